#include "lib/store/deliveries/entity_log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/store/deliveries/logged_row.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/session/union_all.hpp"

namespace store {

namespace {

constexpr unsigned looked_at = 2000;  // the most rows that a page with a filter reads
constexpr unsigned step = 500;        // of them at once

constexpr std::string_view select = "SELECT e.webhook_id,";
constexpr std::string_view event_columns = ", e.evento, e.prueba";

/// The newest deliveries of several webhooks: seek_newest for each of them replaces {seeks}, so that only
/// the ids in an index are read of those that another webhook's deliveries displace.
constexpr std::string_view seek_newest = R"sql(
    SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
    WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?)sql";
constexpr std::string_view from_newest = R"sql(
  FROM ({seeks} ORDER BY id DESC LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id)sql";
constexpr auto newest_of_webhooks = joined<select, logged_columns, event_columns, from_newest>;

/// A delivery that an earlier release made may lack `evento` and `prueba`: its notification has them.
constexpr std::string_view or_of_notification = R"sql(,
    COALESCE(e.evento, n.evento) AS evento, COALESCE(e.prueba, n.origen = 'prueba') AS prueba)sql";
constexpr std::string_view join_notification = R"sql(
  LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = IF(e.evento IS NULL, e.notificacion_id, NULL))sql";
constexpr auto newest_with_old =
    joined<select, logged_columns, or_of_notification, from_newest, join_notification>;

constexpr std::string_view from_one = R"sql(
  FROM entregas e FORCE INDEX (PRIMARY))sql";
constexpr std::string_view that_is = R"sql(
  WHERE e.id = ?)sql";
constexpr auto logged_by_id =
    joined<select, logged_columns, or_of_notification, from_one, join_notification, that_is>;

constexpr std::string_view data_of = R"sql(
  SELECT e.id, n.datos
  FROM entregas e FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  WHERE LENGTH(n.datos) <= 65536 AND e.id IN)sql";
static_assert(longest_data == 65536, "a statement says it");

EntityDelivery read_row(const Row& row) { return {row.integer("webhook_id"), read_logged(row)}; }

std::string statement_for(std::string_view text, std::size_t webhooks) {
  constexpr std::string_view placeholder = "{seeks}";
  std::string statement(text);
  return statement.replace(statement.find(placeholder), placeholder.size(), union_all(seek_newest, webhooks));
}

struct Newest {
  std::vector<EntityDelivery> deliveries;  // newest first, without a gap
  bool last = false;                       // nothing is older
};

/// Removes the rows below which a webhook with `each` rows may have more. Returns whether there is such a
/// webhook.
bool end_before_gap(std::vector<EntityDelivery>& rows, unsigned each) {
  std::map<WebhookId, unsigned> seen;
  const auto full = std::ranges::find_if(rows, [&](const auto& one) { return ++seen[one.webhook] == each; });
  if (full == rows.end()) return false;
  rows.erase(full + 1, rows.end());
  return true;
}

/// Reads the newest deliveries older than `before`: `most` at most, and `each` at most of a webhook.
Newest read_newest(Session& session, const std::vector<WebhookId>& webhooks, DeliveryId before, unsigned most,
                   unsigned each) {
  std::vector<Parameter> parameters;
  for (const auto webhook : webhooks) append_row(parameters, webhook, before, each);
  parameters.emplace_back(most);
  auto rows = session.run_query(statement_for(newest_of_webhooks, webhooks.size()), parameters);
  if (std::ranges::any_of(rows, [](const Row& row) { return row.null("evento"); }))
    rows = session.run_query(statement_for(newest_with_old, webhooks.size()), parameters);
  Newest newest;
  newest.deliveries.reserve(rows.size());
  for (const auto& row : rows) newest.deliveries.push_back(read_row(row));
  std::ranges::sort(newest.deliveries, std::greater(), [](const auto& one) { return one.delivery.id; });
  const bool gap = each < most && end_before_gap(newest.deliveries, each);
  newest.last = rows.size() < most && !gap;
  return newest;
}

bool fits(const LoggedDelivery& delivery, const LogFilter& filter) {
  return (!filter.state || delivery.state == *filter.state) &&
         (!filter.event || delivery.event == *filter.event) &&
         (!filter.since || delivery.created >= *filter.since) &&
         (!filter.until || delivery.created < *filter.until);
}

/// Whether no delivery with a lower id than those of `read` was created after `since`: a delivery may be
/// younger than one with a higher id, but never by a day.
bool all_old(const std::vector<EntityDelivery>& read, const std::optional<UtcTime>& since) {
  return since && std::ranges::all_of(read, [&](const EntityDelivery& one) {
           return one.delivery.created < *since - std::chrono::days(1);
         });
}

/// Reads in steps until the page and one more are found, `looked_at` rows are read, or nothing is left. The
/// first step reads few ids of each webhook, because usually all webhooks get much the same events.
EntityLogPage read_merged(Session& session, const std::vector<WebhookId>& webhooks, const LogFilter& filter,
                          unsigned limit, DeliveryId before) {
  const bool filtered = filter.state || filter.event || filter.since || filter.until;
  const auto share = static_cast<unsigned>(2 * (limit / webhooks.size() + 1));
  EntityLogPage page;
  unsigned left = looked_at;
  unsigned most = limit + 1;
  for (unsigned each = std::min(most, share); most > 0; each = most) {
    auto newest = read_newest(session, webhooks, before, most, each);
    if (!newest.deliveries.empty()) before = newest.deliveries.back().delivery.id;
    const bool ends = newest.last || all_old(newest.deliveries, filter.since);
    for (auto& one : newest.deliveries) {
      if (!fits(one.delivery, filter)) continue;
      if (page.deliveries.size() == limit) {
        page.next = page.deliveries.back().delivery.id;
        return page;
      }
      page.deliveries.push_back(std::move(one));
    }
    if (ends) return page;
    left -= std::min(left, most);
    most = std::min(filtered ? step : limit + 1 - static_cast<unsigned>(page.deliveries.size()), left);
  }
  page.next = before;
  return page;
}

}  // namespace

EntityLogPage read_entity_log_page(Session& session, const std::vector<WebhookId>& webhooks,
                                   const LogFilter& filter, unsigned limit,
                                   std::optional<DeliveryId> before) {
  EntityLogPage page;
  if (webhooks.empty()) return page;
  if (webhooks.size() > 1)
    return read_merged(session, webhooks, filter, limit,
                       before.value_or(std::numeric_limits<std::int64_t>::max()));
  auto of_one = read_log_page(session, webhooks.front(), filter, limit, before);
  for (auto& delivery : of_one.deliveries) page.deliveries.push_back({webhooks.front(), std::move(delivery)});
  page.next = of_one.next;
  return page;
}

std::optional<EntityDelivery> find_entity_delivery(Session& session, const std::vector<WebhookId>& webhooks,
                                                   const LogFilter& filter, DeliveryId id) {
  const auto rows = session.query(logged_by_id, id);
  if (rows.empty()) return std::nullopt;
  auto found = read_row(rows.front());
  const bool own = std::ranges::find(webhooks, found.webhook) != webhooks.end();
  return own && fits(found.delivery, filter) ? std::optional(std::move(found)) : std::nullopt;
}

std::map<DeliveryId, std::string> read_event_data(Session& session, const std::vector<DeliveryId>& ids) {
  std::map<DeliveryId, std::string> data;
  for (const auto& row : query_ids(session, data_of, ids, "")) data[row.integer("id")] = row.text("datos");
  return data;
}

}  // namespace store
