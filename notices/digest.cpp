#include "notices/digest.hpp"

#include <ranges>

#include "lib/json/json.hpp"
#include "lib/store/notices/facts.hpp"
#include "lib/store/webhooks/failing.hpp"
#include "lib/webhook/target_url.hpp"

namespace notices {

namespace {

constexpr unsigned most_lines = 30;  // of each list

std::string text_in(const json::Value& value, std::string_view name) {
  const auto* member = value.find(name);
  if (member == nullptr) return {};
  if (const auto* text = member->string()) return *text;
  return member->integer() ? std::to_string(*member->integer()) : "";
}

json::Array failing_lines(store::Session& session, platform::Milliseconds disable_after) {
  json::Array lines;
  store::ListFilter filter;
  filter.limit = most_lines + 1;
  for (const auto& one : store::list_failing_webhooks(session, filter, disable_after))
    lines.emplace_back(
        "entity " + to_string(one.entity) + ", webhook " + to_string(one.id) + " (" +
        webhook::comparable_host(one.url) + "): since " + platform::format_iso8601(one.streak.since) + ", " +
        std::to_string(one.streak.failures) + " failures" +
        (one.streak.deactivation
             ? ", deactivated from " + platform::format_iso8601(*one.streak.deactivation) + " on"
             : ""));
  return lines;
}

json::Array entity_lines(const std::vector<store::EntityWithoutContact>& entities) {
  json::Array lines;
  for (const auto& one : entities | std::views::take(most_lines + 1))
    lines.emplace_back("entity " + to_string(one.entity) + ", " + one.name);
  return lines;
}

void add_list(mail::Message& message, const std::string& title, const json::Value& data,
              std::string_view name, const std::string& command) {
  const auto* member = data.find(name);
  const auto* lines = member == nullptr ? nullptr : member->array();
  if (lines == nullptr || lines->empty()) return;
  message.body.push_back({title, {}, true});
  std::size_t shown = 0;
  for (const auto& line : *lines)
    if (line.string() != nullptr && shown++ < most_lines) message.body.push_back({"- " + *line.string()});
  if (lines->size() > most_lines) message.body.push_back({"and more: " + command});
}

}  // namespace

std::optional<store::NewNotice> make_digest(store::Session& session, std::chrono::sys_days day,
                                            platform::Milliseconds disable_after) {
  auto failing = failing_lines(session, disable_after);
  const auto alone = store::read_entities_without_contact(session);
  const auto counts = store::count_notices(session);
  if (failing.empty() && alone.empty() && counts.given_up == 0 && counts.refused == 0) return std::nullopt;
  json::Object data{{"dia", platform::format_iso8601(day).substr(0, 10)},
                    {"fallan", std::move(failing)},
                    {"sin_contacto", entity_lines(alone)},
                    {"cuantas_sin_contacto", static_cast<std::int64_t>(alone.size())},
                    {"fallidos", counts.given_up},
                    {"rechazados", counts.refused}};
  return store::NewNotice{.contact = store::operator_contact,
                          .entity = {},
                          .webhook = {},
                          .kind = std::string(store::digest_notice),
                          .episode = platform::format_iso8601(day).substr(0, 10),
                          .data = json::dump(std::move(data))};
}

void write_digest(mail::Message& message, const store::Notice& digest) {
  const auto data = json::parse(digest.data);
  message.language = "en";
  message.subject = "apientidades: digest of " + text_in(data, "dia");
  add_list(message, "Webhooks that fail", data, "fallan", "apientidades-admin webhook list --failing");
  add_list(message,
           "Entities with webhooks and no confirmed contact, which are told nothing: " +
               text_in(data, "cuantas_sin_contacto"),
           data, "sin_contacto", "apientidades-admin entity list --without-contact");
  message.body.push_back({"Mails", {}, true});
  message.body.push_back({"Addresses that the mail server has refused: " + text_in(data, "rechazados") +
                          ". Notices given up in three days: " + text_in(data, "fallidos") +
                          ". They are in: apientidades-admin notice list --state fallido"});
}

}  // namespace notices
