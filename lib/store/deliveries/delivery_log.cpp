#include "lib/store/deliveries/delivery_log.hpp"

#include <algorithm>
#include <limits>

#include "lib/store/deliveries/logged_row.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr unsigned looked_at = 2000;
/// Many replays may add thousands of attempts, and an answer must fit in the send buffer of its socket.
constexpr unsigned shown_attempts = 100;

constexpr std::string_view select = "SELECT";
constexpr std::string_view of_notification = ", n.evento, n.origen = 'prueba' AS prueba";

constexpr std::string_view newest_first = R"sql(, e.evento, e.prueba
  FROM entregas e FORCE INDEX (entregas_de_webhook)
  WHERE e.webhook_id = ? AND e.id < ? ORDER BY e.id DESC LIMIT ?)sql";
/// The newest deliveries without a filter, read from one table.
constexpr auto newest_of_log = joined<select, logged_columns, newest_first>;

/// A delivery that an earlier release made may lack `evento` and `prueba`. Only for such a delivery does the
/// statement read the notification.
constexpr std::string_view that_fit_within = R"sql(
    , COALESCE(e.evento, n.evento) AS evento, COALESCE(e.prueba, n.origen = 'prueba') AS prueba
  FROM entregas e FORCE INDEX (entregas_de_webhook)
  LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = IF(e.evento IS NULL, e.notificacion_id, NULL)
  WHERE e.webhook_id = ? AND e.id < ? AND e.id >= ?
    AND (? IS NULL OR IF(e.entregada_en IS NULL, e.estado, 'entregada') = ?)
    AND (? IS NULL OR COALESCE(e.evento, n.evento) = ?)
    AND (? IS NULL OR e.creada_en >= ?) AND (? IS NULL OR e.creada_en < ?)
  ORDER BY e.id DESC LIMIT ?)sql";
/// Reads the window (LogWindow: at most `looked_at` deliveries) by id, newest first, so the cost depends on
/// the size of the window, not on the filter.
constexpr auto page_of_log = joined<select, logged_columns, that_fit_within>;
constexpr std::string_view end_of_window = R"sql(
  SELECT MIN(v.id) AS ultima, COUNT(*) AS miradas
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
        WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?) v)sql";
/// Whether all deliveries of the window were created more than a day before `since`. If so, no delivery with
/// a lower id was created after `since`: a delivery may be younger than one with a higher id, but never by a
/// day.
constexpr std::string_view age_of_window = R"sql(
  SELECT MAX(creada_en) < ? - INTERVAL 1 DAY AS antiguas FROM entregas FORCE INDEX (entregas_de_webhook)
  WHERE webhook_id = ? AND id < ? AND id >= ?)sql";

constexpr std::string_view with_its_data = R"sql(, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en, n.datos
  FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id
  WHERE e.id = ? AND e.webhook_id = ?)sql";
constexpr auto evidence_of_delivery = joined<select, logged_columns, of_notification, with_its_data>;

Rows query_between(Session& session, WebhookId webhook, const LogFilter& filter, unsigned limit,
                   DeliveryId before, DeliveryId oldest) {
  return session.query(page_of_log, webhook, before, oldest, filter.state, filter.state, filter.event,
                       filter.event, filter.since, filter.since, filter.until, filter.until, limit + 1);
}

/// Falls back to query_between if a delivery is of an earlier release, which stored the event only in the
/// notification.
Rows query_newest(Session& session, WebhookId webhook, unsigned limit, DeliveryId before) {
  auto rows = session.query(newest_of_log, webhook, before, limit + 1);
  const bool complete = std::ranges::none_of(rows, [](const Row& row) { return row.null("evento"); });
  return complete ? rows : query_between(session, webhook, {}, limit, before, rows.back().integer("id"));
}

constexpr DeliveryId newest_possible = std::numeric_limits<std::int64_t>::max();

/// `rows` may have one row more than a page shows, to tell that there is a next page.
LogPage page_of(const Rows& rows, unsigned limit) {
  LogPage page;
  page.deliveries.reserve(rows.size());
  for (const auto& row : rows) page.deliveries.push_back(read_logged(row));
  if (page.deliveries.size() > limit) {
    page.deliveries.pop_back();
    page.next = page.deliveries.back().id;
  }
  return page;
}

}  // namespace

LoggedDelivery read_logged(const Row& row) {
  LoggedDelivery delivery{row.integer("id"),
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

LogWindow find_log_window(Session& session, WebhookId webhook, std::optional<DeliveryId> before) {
  LogWindow window{before.value_or(newest_possible)};
  const auto rows = session.query(end_of_window, webhook, window.before, looked_at);
  window.oldest = rows.at(0).optional_integer("ultima");
  window.full = rows.at(0).integer("miradas") == looked_at;
  return window;
}

LogPage read_log_window(Session& session, WebhookId webhook, const LogFilter& filter, unsigned limit,
                        const LogWindow& window) {
  if (!window.oldest) return {};
  auto page = page_of(query_between(session, webhook, filter, limit, window.before, *window.oldest), limit);
  if (page.next || !window.full) return page;
  const auto age = filter.since
                       ? session.query(age_of_window, filter.since, webhook, window.before, *window.oldest)
                       : Rows{};
  const bool old = !age.empty() && !age.at(0).null("antiguas") && age.at(0).boolean("antiguas");
  if (!old) page.next = window.oldest;
  return page;
}

LogPage read_log_page(Session& session, WebhookId webhook, const LogFilter& asked, unsigned limit,
                      std::optional<DeliveryId> before) {
  auto filter = asked;
  // MySQL refuses to compare a DATETIME with a date that some calendars lack, such as 0000-02-29. No delivery
  // is older than 1970, so a bound before 1970 is replaced by 1970.
  for (auto* time : {&filter.since, &filter.until})
    if (*time) *time = std::max(**time, UtcTime{});
  if (filter.state || filter.event || filter.since || filter.until)
    return read_log_window(session, webhook, filter, limit, find_log_window(session, webhook, before));
  const auto newest = before.value_or(newest_possible);
  return page_of(query_newest(session, webhook, limit, newest), limit);
}

std::optional<LoggedEvidence> find_evidence(Session& session, WebhookId webhook, DeliveryId delivery) {
  const auto rows = session.query(evidence_of_delivery, delivery, webhook);
  if (rows.empty()) return std::nullopt;
  const auto& row = rows.front();
  return LoggedEvidence{read_logged(row), row.time("ocurrida_en"), row.text("datos"),
                        list_newest_attempts(session, delivery, shown_attempts)};
}

}  // namespace store
