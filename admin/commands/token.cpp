// token issue|list|revoke

#include <algorithm>
#include <filesystem>

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/output/render.hpp"
#include "lib/delivery/ids.hpp"
#include "lib/store/entities/tokens.hpp"
#include "lib/webhook/access_token.hpp"

namespace admin {

namespace {

using std::chrono::hours;

// 100 years. The database refuses a time after the year 9999 (error 1441).
constexpr platform::Milliseconds max_ttl = hours(24 * 36500);
constexpr platform::Milliseconds min_ttl{1};
constexpr std::size_t max_label = 100;

json::Object to_row(const store::Token& token) {
  return {{"id", token.id},
          {"entidad_id", token.entity},
          {"etiqueta", token.label},
          {"caduca", time_value(token.expires)},
          {"revocado", time_value(token.revoked)},
          {"solo_lectura", token.read_only}};
}

store::Token find(store::Session& session, store::TokenId id, std::optional<delivery::EntityId> entity) {
  const auto tokens = store::list_tokens(session, entity);
  const auto found = std::ranges::find(tokens, id, &store::Token::id);
  if (found == tokens.end())
    throw Failure("there is no token " + to_string(id) + ": `token list` shows them");
  return *found;
}

Result issue(Context& context, const Arguments& arguments) {
  const store::EntityId entity = arguments.required_id("entity");
  const auto ttl = arguments.duration("ttl", min_ttl, max_ttl);
  const auto label = arguments.line("label", max_label, true).value_or("");
  if (const auto path = arguments.text("output"); path && std::filesystem::exists(*path))
    throw Failure("--output: " + *path + " exists");
  const auto token = webhook::generate_access_token();
  const auto id = store::issue_token(context.session, {entity, webhook::access_token_hash(token).value(), ttl,
                                                       label, arguments.has("read-only")});
  if (!id)
    throw Failure("there is no entity " + to_string(entity) + ": `entity add --id " + to_string(entity) +
                  " --name …` adds it");
  auto row = to_row(find(context.session, *id, entity));
  if (const auto path = arguments.text("output")) {
    Result result{std::move(row), "The token is in " + *path + ": hand it over, and remove the file."};
    result.file =
        PrivateFile{*path, token + '\n', "`token revoke " + to_string(*id) + "`, and issue another"};
    return result;
  }
  row.emplace_back("token", token);
  return {std::move(row), token};
}

Result list(Context& context, const Arguments& arguments) {
  json::Array rows;
  for (const auto& token : store::list_tokens(context.session, arguments.id("entity")))
    rows.emplace_back(to_row(token));
  return {std::move(rows)};
}

Result revoke(Context& context, const Arguments& arguments) {
  const store::TokenId id = arguments.required_id();
  const auto before = find(context.session, id, {});
  store::revoke_token(context.session, id);
  const auto token = find(context.session, id, before.entity);
  return {to_row(token), "Token " + to_string(id) + " of entity " + to_string(token.entity) +
                             (before.revoked ? " was already revoked at " : " is revoked since ") +
                             platform::format_iso8601(token.revoked.value()) + "."};
}

}  // namespace

std::vector<Command> token_commands() {
  return {
      {.words = "token issue",
       .summary = "Make an access token for an entity and print it",
       .details = "The token alone is on standard output, or in the file of --output. It is shown this once: "
                  "only its hash is stored.",
       .options = {.options = {{"entity", "N", "the entity that will use it", true},
                               {"ttl", "DURATION", "how long it is valid: 12h, 30d (default: for ever)"},
                               {"label", "TEXT",
                                "a name by which `token list` shows it, up to 100 characters"},
                               {"output", "FILE", "a new file for it, which only you can read"},
                               {"read-only", "", "a token that can read, but change nothing"}}},
       .example =
           "apientidades-admin token issue --entity 7 --ttl 365d --label produccion --output token.txt",
       .recorded = Recorded::in_transaction,
       .run = issue},
      {.words = "token list",
       .summary = "List tokens: id, entidad_id, etiqueta, caduca, revocado, solo_lectura",
       .options = {.options = {entity_filter}},
       .example = "apientidades-admin token list --entity 7",
       .recorded = Recorded::never,
       .run = list},
      {.words = "token revoke",
       .summary = "Refuse a token from its next request on",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin token revoke 3",
       .recorded = Recorded::in_transaction,
       .run = revoke},
  };
}

}  // namespace admin
