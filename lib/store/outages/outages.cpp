#include "lib/store/outages/outages.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/union_all.hpp"

namespace store {

namespace {

using platform::Milliseconds;

constexpr std::string_view insert_outage = R"sql(
  INSERT INTO cortes_envio (despachador, tipo, desde, visto_en)
  VALUES (?, ?, UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND, UTC_TIMESTAMP(3)))sql";
constexpr std::string_view last_id = "SELECT LAST_INSERT_ID() AS id";
/// Gives a row only if no jump of the clock is on record, and a dispatcher noted the time (`hora`) within the
/// last hour. If the noted time is older, the clock may have jumped without a record. This is not a part of
/// forget_old, because a DELETE that reads the row would lock it.
constexpr std::string_view clock_is_believed = R"sql(
  SELECT 1 FROM reloj_visto WHERE id = 1 AND salto_ms = 0 AND hora > UTC_TIMESTAMP(3) - INTERVAL 1 HOUR)sql";
constexpr std::string_view forget_old = R"sql(
  DELETE FROM cortes_envio WHERE visto_en < UTC_TIMESTAMP(3) - INTERVAL 366 DAY ORDER BY visto_en LIMIT 1000)sql";
constexpr std::string_view note_outage = R"sql(
  UPDATE cortes_envio
  SET visto_en = UTC_TIMESTAMP(3), entregas = ?, hasta = UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
  WHERE id = ?)sql";

constexpr std::string_view running_outages = R"sql(
  SELECT despachador, tipo, CAST(desde AS CHAR) AS desde, entregas FROM cortes_envio
  WHERE visto_en > UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE AND hasta IS NULL ORDER BY desde, id)sql";

constexpr std::string_view time_now = "SELECT CAST(UTC_TIMESTAMP(3) AS CHAR) AS ahora";
constexpr std::string_view outages_since = R"sql(
  SELECT CAST(desde AS CHAR) AS desde, CAST(COALESCE(hasta, visto_en) AS CHAR) AS hasta
  FROM cortes_envio FORCE INDEX (cortes_por_visto) WHERE visto_en > ?)sql";

// A dispatcher uses the two statements below only at its start.

constexpr std::string_view answering_webhooks = R"sql(
  SELECT w.id, w.url, w.entidad_id,
    TIMESTAMPDIFF(MICROSECOND, x.ultima_ejecucion, UTC_TIMESTAMP(3)) DIV 1000 AS hace_ms
  FROM (SELECT webhook_id, ultima_ejecucion FROM webhook_ejecuciones
        WHERE ultimo_estado IS NOT NULL AND ultima_ejecucion > UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
        ORDER BY ultima_ejecucion DESC LIMIT ?) x
  JOIN webhooks w ON w.id = x.webhook_id AND w.plaza IS NOT NULL)sql";
/// Finds the newest delivery of a webhook that has been attempted, and reads the address of its last attempt.
/// That is nearly always the address from which the webhook last answered. The 20 newest deliveries may all
/// be without an attempt, above all in an outage, so the statement also looks at 20 deliveries that are
/// en_curso, entregada or cancelada (`espera` is NULL).
constexpr std::string_view address_of_webhook = R"sql(
  SELECT e.webhook_id, i.direccion
  FROM (SELECT id, webhook_id, intentos
        FROM ((SELECT id, webhook_id, intentos FROM entregas FORCE INDEX (entregas_de_webhook)
               WHERE webhook_id = ? ORDER BY id DESC LIMIT 20)
              UNION ALL
              (SELECT id, webhook_id, intentos FROM entregas FORCE INDEX (entregas_por_reclamar)
               WHERE espera IS NULL AND webhook_id = ? ORDER BY proximo_intento DESC, id DESC LIMIT 20)) newest
        WHERE intentos > 0 ORDER BY id DESC LIMIT 1) e
  STRAIGHT_JOIN intentos_entrega i FORCE INDEX (PRIMARY) ON i.entrega_id = e.id AND i.numero = e.intentos)sql";
constexpr std::size_t webhooks_per_statement = 16;

constexpr int no_right_to_table = 1142;

}  // namespace

OutageId begin_outage(Session& session, std::string_view dispatcher, OutageKind kind, Milliseconds ago) {
  return transaction(session, [&] {
    session.update(insert_outage, dispatcher, name(kind), microseconds(ago));
    const auto id = session.query(last_id).at(0).integer("id");
    if (!session.query(clock_is_believed).empty()) session.update(forget_old);
    return id;
  });
}

void update_outage(Session& session, OutageId id, std::uint64_t deliveries,
                   std::optional<Milliseconds> ended_ago) {
  const auto ended = ended_ago ? std::optional(microseconds(*ended_ago)) : std::nullopt;
  session.update(note_outage, deliveries, ended, id);
}

std::vector<RunningOutage> list_running_outages(Session& session) {
  std::vector<RunningOutage> result;
  for (const auto& row : session.query(running_outages))
    result.push_back({row.text("despachador"), row.text("tipo"), row.time("desde"), row.integer("entregas")});
  return result;
}

OutageTimes::OutageTimes(std::vector<Span> outages, UtcTime now) : now_(now) {
  std::ranges::sort(outages, {}, &Span::from);
  for (auto [from, to] : outages) {
    if (!spans_.empty()) from = std::max(from, spans_.back().to);
    to = std::min(to, now);
    if (from < to) spans_.push_back({from, to});
  }
}

Milliseconds OutageTimes::since(UtcTime moment) const {
  Milliseconds total{0};
  for (const auto& [from, to] : spans_) total += std::max(to - std::max(from, moment), Milliseconds(0));
  return total;
}

UtcTime OutageTimes::so_long_ago(Milliseconds span) const {
  auto moment = now_;
  for (auto outage = spans_.rbegin(); outage != spans_.rend() && moment - outage->to < span; ++outage) {
    span -= moment - outage->to;
    moment = outage->from;
  }
  return moment - span;
}

OutageTimes read_outages(Session& session, UtcTime since) {
  const auto now = session.query(time_now).at(0).time("ahora");
  std::vector<OutageTimes::Span> outages;
  try {
    for (const auto& row : session.query(outages_since, since))
      outages.push_back({row.time("desde"), row.time("hasta")});
  } catch (const DatabaseError& error) {
    // During an upgrade the right may not be granted yet. Then no outage is counted.
    if (error.code != no_right_to_table) throw;
  }
  return {std::move(outages), now};
}

std::vector<AnsweringWebhook> find_answering(Session& session, Milliseconds within, unsigned limit) {
  const auto answering = session.query(answering_webhooks, microseconds(within), limit);
  std::vector<Seek> seeks;
  for (const auto& row : answering) {
    const Parameter id(row.integer("id"));
    seeks.push_back({id, id});
  }
  const Seek none{Parameter(-1), Parameter(-1)};
  std::map<std::int64_t, std::optional<std::string>> addresses;
  for (const auto& row : query_seeks(session, address_of_webhook, seeks, none, webhooks_per_statement))
    addresses[row.integer("webhook_id")] = row.optional_text("direccion");
  std::vector<AnsweringWebhook> result;
  for (const auto& row : answering) {
    if (const auto& address = addresses[row.integer("id")])
      result.push_back(
          {row.text("url"), row.integer("entidad_id"), *address, Milliseconds(row.integer("hace_ms"))});
  }
  return result;
}

}  // namespace store
