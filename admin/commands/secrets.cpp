// secrets reencrypt|status

#include <algorithm>

#include "admin/commands.hpp"
#include "lib/store/webhooks/secrets.hpp"
#include "lib/webhook/key_file.hpp"

namespace admin {

namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

webhook::KeyRing read_keys(const Context& context) {
  return webhook::read_key_file(context.config.settings.secrets.key_file);
}

/// What the operator should know about a key; empty if there is nothing to say.
std::string remark(const store::SealedByKey& sealed, const webhook::KeyRing& keys) {
  const auto& key = sealed.key_id;
  if (!contains(keys.ids(), key))
    return "key " + key + " is not in secrets.key_file: the deliveries that need it are held";
  if (key != keys.current_id() && sealed.webhooks + sealed.test_events == 0)
    return "key " + key + " seals nothing: once every process of the API has reloaded, it can be removed";
  return {};
}

Result status(Context& context, const Arguments&) {
  const auto keys = read_keys(context);
  const auto ids = keys.ids();
  auto used = store::sealed_by_key(context.session);
  for (const auto& id : ids) {
    if (std::ranges::find(used, id, &store::SealedByKey::key_id) == used.end()) used.push_back({id, 0, 0});
  }
  json::Array rows;
  Result result;
  for (const auto& sealed : used) {
    rows.push_back(json::Object{{"clave", sealed.key_id},
                                {"webhooks", sealed.webhooks},
                                {"pruebas", sealed.test_events},
                                {"actual", sealed.key_id == keys.current_id()},
                                {"en_fichero", contains(ids, sealed.key_id)}});
    if (const auto text = remark(sealed, keys); !text.empty())
      result.note += (result.note.empty() ? "" : "; ") + text;
  }
  result.value = std::move(rows);
  return result;
}

Result reencrypt(Context& context, const Arguments&) {
  const auto keys = read_keys(context);
  const auto done = store::reencrypt(context.session, keys);
  Result result{json::Object{{"clave", keys.current_id()},
                             {"recifrados", static_cast<std::int64_t>(done.secrets)},
                             {"pruebas", static_cast<std::int64_t>(done.test_events)},
                             {"ilegibles", static_cast<std::int64_t>(done.unreadable)}},
                std::to_string(done.secrets) + " secrets and the data of " +
                    std::to_string(done.test_events) + " test events resealed; the current key is " +
                    keys.current_id() + "."};
  if (done.unreadable > 0) {
    result.problems.push_back(std::to_string(done.unreadable) +
                              " could not be opened and are unchanged: put their key back into "
                              "secrets.key_file (`secrets status` names it)");
    result.status = program::exit_failed;
  }
  if (done.refused > 0) {
    result.problems.push_back("the database refuses to change " + std::to_string(done.refused) +
                              " rows, which are unchanged; the last is " + done.refusal);
    result.status = program::exit_failed;
  }
  return result;
}

}  // namespace

std::vector<Command> secrets_commands() {
  return {
      {.words = "secrets status",
       .summary =
           "List the keys, in secrets.key_file or in use, and how many secrets and test events each seals",
       .details = "A key that is not the current one and seals 0 can be removed from the file, once every "
                  "process of the\n"
                  "API has reloaded: a process that has not reloaded seals new secrets with the old key.",
       .example = "apientidades-admin secrets status",
       .recorded = Recorded::never,
       .run = status},
      {.words = "secrets reencrypt",
       .summary = "Seal every secret again under the current key, while the service runs",
       .details =
           "To rotate: put a new key first in secrets.key_file; reload every dispatcher (SIGHUP, systemctl\n"
           "reload), then the API; run this; when `secrets status` shows 0 for the old key, remove it and\n"
           "reload again. In another order deliveries are held until the dispatcher has the key. If the\n"
           "command is cut short, run it again.",
       .example = "apientidades-admin secrets reencrypt",
       .recorded = Recorded::before,
       .run = reencrypt},
  };
}

}  // namespace admin
