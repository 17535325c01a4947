// secrets reencrypt|status

#include <algorithm>

#include "admin/commands.hpp"
#include "store/secrets.hpp"
#include "webhook/key_file.hpp"

namespace admin {

namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

Result status(Context& context, const Arguments&) {
  const auto keys = webhook::read_key_file(context.config.settings.secrets.key_file);
  const auto ids = keys.ids();
  auto used = store::secrets_by_key(context.session);
  for (const auto& id : ids) {
    if (std::ranges::find(used, id, &store::SecretsOfKey::key_id) == used.end()) used.push_back({id, 0});
  }
  webhook::json::Array rows;
  Result result;
  for (const auto& [key, webhooks] : used) {
    rows.push_back(webhook::json::Object{{"clave", key},
                                         {"webhooks", webhooks},
                                         {"actual", key == keys.current_id()},
                                         {"en_fichero", contains(ids, key)}});
    if (!contains(ids, key))
      result.note = "key " + key + " is not in secrets.key_file: the deliveries that need it are held";
  }
  result.value = std::move(rows);
  return result;
}

Result reencrypt(Context& context, const Arguments&) {
  const auto keys = webhook::read_key_file(context.config.settings.secrets.key_file);
  const auto done = store::reencrypt_secrets(context.session, keys);
  Result result{
      webhook::json::Object{{"clave", keys.current_id()},
                            {"recifrados", static_cast<std::int64_t>(done.resealed)},
                            {"ilegibles", static_cast<std::int64_t>(done.unreadable)}},
      std::to_string(done.resealed) + " secrets resealed; the current key is " + keys.current_id() + "."};
  if (done.unreadable > 0) {
    result.problems.push_back(std::to_string(done.unreadable) +
                              " secrets could not be opened and are as they were: put the key that sealed "
                              "them back into secrets.key_file (`secrets status` names it)");
    result.status = platform::exit_failed;
  }
  return result;
}

}  // namespace

std::vector<Command> secrets_commands() {
  return {
      {.words = "secrets status",
       .summary = "List the keys of secrets.key_file and how many webhooks' secrets each seals",
       .details = "A key that is not actual and seals 0 can be removed from the file.",
       .example = "apientidades-admin secrets status",
       .run = status},
      {.words = "secrets reencrypt",
       .summary = "Seal every secret again under the current key, while the service runs",
       .details = "To rotate: put a new key first in secrets.key_file, restart the dispatcher and then the\n"
                  "pool, one process after the other, run this, and remove the old key when `secrets status` "
                  "shows 0 for it.",
       .example = "apientidades-admin secrets reencrypt",
       .run = reencrypt},
  };
}

}  // namespace admin
