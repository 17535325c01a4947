#include "lib/store/deliveries/delivery_log.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/session/union_all.hpp"

namespace store {

namespace {

constexpr unsigned looked_at = 2000;  // the most rows that a page with a filter reads
constexpr unsigned step = 500;        // of them at once
/// Many replays may add thousands of attempts, and an answer must fit in the send buffer of its socket.
constexpr unsigned shown_attempts = 100;

/// An urgent delivery has a `proximo_intento` an hour before its creation.
constexpr std::string_view select = R"sql(
  SELECT e.webhook_id, e.id, e.estado, e.intentos,
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.creada_en) AS creada_en,
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.entregada_en) AS entregada_en,
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', e.terminada_en) AS terminada_en,
    IF(e.estado = 'pendiente', TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00',
      GREATEST(e.proximo_intento, e.creada_en)), NULL) AS proximo_intento, e.ultimo_estado, e.ultimo_error)sql";
constexpr std::string_view event_columns = ", e.evento, e.prueba";

/// The newest deliveries of one webhook.
constexpr std::string_view from_one_webhook = R"sql(
  FROM entregas e FORCE INDEX (entregas_de_webhook)
  WHERE e.webhook_id = ? AND e.id < ? ORDER BY e.id DESC LIMIT ?)sql";
constexpr auto newest_of_webhook = joined<select, event_columns, from_one_webhook>;

/// The newest deliveries of several webhooks: seek_newest for each of them replaces {seeks}, so that only
/// the ids in an index are read of those that another webhook's deliveries displace.
constexpr std::string_view seek_newest = R"sql(
    SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
    WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?)sql";
constexpr std::string_view from_newest = R"sql(
  FROM ({seeks} ORDER BY id DESC LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id)sql";
constexpr auto newest_of_webhooks = joined<select, event_columns, from_newest>;

/// A delivery that an earlier release made may lack `evento` and `prueba`: its notification has them.
constexpr std::string_view or_of_notification = R"sql(,
    COALESCE(e.evento, n.evento) AS evento, COALESCE(e.prueba, n.origen = 'prueba') AS prueba)sql";
constexpr std::string_view join_notification = R"sql(
  LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = IF(e.evento IS NULL, e.notificacion_id, NULL))sql";
constexpr auto newest_with_old = joined<select, or_of_notification, from_newest, join_notification>;

constexpr std::string_view from_one = R"sql(
  FROM entregas e FORCE INDEX (PRIMARY))sql";
constexpr std::string_view that_is = R"sql(
  WHERE e.id = ?)sql";
constexpr auto logged_by_id = joined<select, or_of_notification, from_one, join_notification, that_is>;

constexpr std::string_view data_of = R"sql(
  SELECT e.id, n.datos
  FROM entregas e FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  WHERE LENGTH(n.datos) <= 65536 AND e.id IN)sql";
static_assert(longest_data == 65536, "a statement says it");

constexpr std::string_view ids_with_first_failed = R"sql(
  SELECT entrega_id AS id FROM intentos_entrega FORCE INDEX (PRIMARY)
  WHERE numero = 1 AND error <> '' AND entrega_id IN)sql";

constexpr std::string_view of_notification = ", n.evento, n.origen = 'prueba' AS prueba";
constexpr std::string_view with_its_data = R"sql(, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en, n.datos
  FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.id = ? AND e.webhook_id = ?)sql";
constexpr auto evidence_of_delivery = joined<select, of_notification, with_its_data>;

/// A delivery with a 2xx counts as delivered, whatever the result of a replay.
LoggedDelivery read_logged(const Row& row) {
  LoggedDelivery delivery{row.integer("webhook_id"),
                          row.integer("id"),
                          row.text("evento"),
                          row.boolean("prueba"),
                          row.text("estado"),
                          row.integer("intentos"),
                          row.unix_time("creada_en"),
                          row.optional_unix_time("entregada_en"),
                          row.optional_unix_time("terminada_en"),
                          row.optional_unix_time("proximo_intento"),
                          row.optional_integer("ultimo_estado"),
                          row.text("ultimo_error")};
  if (delivery.state == "entregada" && !delivery.delivered) delivery.delivered = delivery.ended;
  if (delivery.delivered) {
    delivery.state = "entregada";
    delivery.next_attempt.reset();
    if (!delivery.ended) delivery.ended = delivery.delivered;
  }
  return delivery;
}

std::string statement_for(std::string_view text, std::size_t webhooks) {
  constexpr std::string_view placeholder = "{seeks}";
  std::string statement(text);
  return statement.replace(statement.find(placeholder), placeholder.size(), union_all(seek_newest, webhooks));
}

/// Reads the newest deliveries, `most` at most, the newest first. If there are fewer, nothing is older.
std::vector<LoggedDelivery> read_newest(Session& session, const std::vector<WebhookId>& webhooks,
                                        DeliveryId before, unsigned most) {
  std::vector<Parameter> parameters;
  for (const auto webhook : webhooks) append_row(parameters, webhook, before, most);
  parameters.emplace_back(most);
  auto rows = webhooks.size() == 1
                  ? session.query(newest_of_webhook, webhooks.front(), before, most)
                  : session.run_query(statement_for(newest_of_webhooks, webhooks.size()), parameters);
  if (std::ranges::any_of(rows, [](const Row& row) { return row.null("evento"); }))
    rows = session.run_query(statement_for(newest_with_old, webhooks.size()), parameters);
  std::vector<LoggedDelivery> newest;
  newest.reserve(rows.size());
  for (const auto& row : rows) newest.push_back(read_logged(row));
  std::ranges::sort(newest, std::greater(), &LoggedDelivery::id);
  return newest;
}

bool fits(const LoggedDelivery& delivery, const LogFilter& filter) {
  return (!filter.state || delivery.state == *filter.state) &&
         (!filter.event || delivery.event == *filter.event) &&
         (!filter.since || delivery.created >= *filter.since) &&
         (!filter.until || delivery.created < *filter.until);
}

/// Removes the deliveries that neither failed nor had a failed attempt before the first 2xx. `attempts`
/// counts attempts of known outcome: without a 2xx all failed, and before the first 2xx the first attempt
/// failed.
void remove_unfailed(Session& session, std::vector<LoggedDelivery>& deliveries) {
  std::erase_if(deliveries, [](const auto& one) {
    return one.state != "fallida" && one.attempts < (one.delivered ? 2 : 1);
  });
  std::vector<DeliveryId> delivered;
  for (const auto& one : deliveries)
    if (one.delivered) delivered.push_back(one.id);
  std::set<DeliveryId> failed;
  for (const auto& row : query_ids(session, ids_with_first_failed, delivered, ""))
    failed.insert(row.integer("id"));
  std::erase_if(deliveries, [&](const auto& one) { return one.delivered && !failed.contains(one.id); });
}

/// Whether no delivery with a lower id than those of `read` was created after `since`: a delivery may be
/// younger than one with a higher id, but never by a day.
bool all_old(const std::vector<LoggedDelivery>& read, const std::optional<UtcTime>& since) {
  return since && std::ranges::all_of(read, [&](const LoggedDelivery& one) {
           return one.created < *since - std::chrono::days(1);
         });
}

}  // namespace

// Reads in steps until the page and one more are found, `looked_at` rows are read, or nothing is left.
LogPage read_log_page(Session& session, const std::vector<WebhookId>& webhooks, const LogFilter& filter,
                      unsigned limit, std::optional<DeliveryId> older_than) {
  LogPage page;
  if (webhooks.empty()) return page;
  DeliveryId before = older_than.value_or(std::numeric_limits<std::int64_t>::max());
  unsigned left = looked_at;
  for (unsigned most = limit + 1; most > 0; most = std::min(step, left)) {
    auto newest = read_newest(session, webhooks, before, most);
    if (!newest.empty()) before = newest.back().id;
    const bool ends = newest.size() < most || all_old(newest, filter.since);
    std::erase_if(newest, [&](const auto& one) { return !fits(one, filter); });
    if (filter.failed) remove_unfailed(session, newest);
    for (auto& one : newest) {
      if (page.deliveries.size() == limit) {
        page.next = page.deliveries.back().id;
        return page;
      }
      page.deliveries.push_back(std::move(one));
    }
    if (ends) return page;
    left -= most;
  }
  page.next = before;
  return page;
}

std::optional<LoggedDelivery> find_logged(Session& session, const std::vector<WebhookId>& webhooks,
                                          const LogFilter& filter, DeliveryId id) {
  const auto rows = session.query(logged_by_id, id);
  if (rows.empty()) return std::nullopt;
  std::vector found{read_logged(rows.front())};
  const bool own = std::ranges::find(webhooks, found.front().webhook) != webhooks.end();
  if (!own || !fits(found.front(), filter)) return std::nullopt;
  if (filter.failed) remove_unfailed(session, found);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::map<DeliveryId, std::string> read_event_data(Session& session, const std::vector<DeliveryId>& ids) {
  std::map<DeliveryId, std::string> data;
  for (const auto& row : query_ids(session, data_of, ids, "")) data[row.integer("id")] = row.text("datos");
  return data;
}

std::optional<LoggedEvidence> find_evidence(Session& session, WebhookId webhook, DeliveryId delivery) {
  const auto rows = session.query(evidence_of_delivery, delivery, webhook);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  return LoggedEvidence{read_logged(row), row.time("ocurrida_en"), row.text("datos"),
                        list_newest_attempts(session, delivery, shown_attempts)};
}

}  // namespace store
