#include "lib/store/backlog/queue.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/store/backlog/pauses.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/slots.hpp"

namespace store {

namespace {

// The counts. The SQL of each is joined from all_of or some_of (which stops counting at a limit), a FROM
// clause, and a name for the result.

constexpr std::string_view select = "SELECT ";
constexpr std::string_view all_of = "(SELECT COUNT(*) ";
constexpr std::string_view some_of = "(SELECT COUNT(*) FROM (SELECT 1 ";
constexpr std::string_view limited = " LIMIT ?) c";

constexpr std::string_view pending_notifications =
    "FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir) WHERE estado = 'pendiente'"
    " AND aplazada_hasta IS NULL";
constexpr std::string_view rejected_notifications =
    "FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir) WHERE estado = 'rechazada'";
constexpr std::string_view deferred_notifications =
    "FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir) WHERE estado = 'pendiente'"
    " AND aplazada_hasta > '1970-01-01'";
constexpr std::string_view pending_deliveries =
    "FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente'";
constexpr std::string_view held_deliveries =
    "FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'retenida'";
constexpr std::string_view failed_deliveries =
    "FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'fallida'";
constexpr std::string_view leased_deliveries =
    "FROM entregas FORCE INDEX (entregas_arriendos_vencidos) WHERE arriendo_hasta > '1970-01-01'";

constexpr std::string_view as_pending_notifications = ") AS notificaciones_pendientes, ";
constexpr std::string_view as_rejected = ") AS rechazadas, ";
constexpr std::string_view as_deferred = ") AS aplazadas, ";
constexpr std::string_view as_pending_deliveries = ") AS entregas_pendientes, ";
constexpr std::string_view as_held = ") AS retenidas, ";
constexpr std::string_view as_failed = ") AS fallidas, ";
constexpr std::string_view as_leased = ") AS en_curso, ";

constexpr std::string_view none;
template <const std::string_view& count, const std::string_view& end>
constexpr std::string_view counts =
    joined<select, count, pending_notifications, end, as_pending_notifications, count, rejected_notifications,
           end, as_rejected, count, deferred_notifications, end, as_deferred, count, pending_deliveries, end,
           as_pending_deliveries, count, held_deliveries, end, as_held, count, failed_deliveries, end,
           as_failed, count, leased_deliveries, end, as_leased>;
constexpr std::size_t number_of_counts = 7;

// The ages of the oldest notification and of the oldest due delivery are found with a seek for each entity
// and each webhook, because a GROUP BY would read the whole queue. In each subquery with LIMIT 1, ORDER BY
// begins with the column that equals the outer row's id (`entidad_id` or `webhook_id`). Without it MySQL
// would sort all rows that wait, because it does not see that the column is constant there. Webhooks are
// found by `plaza`, their number (1 to 5) within the entity. It is NULL in deleted webhooks, so these are not
// read, however many there are. A notification for an entity that does not exist has no age here: it is
// rejected at once, unless the queue is paused.

// What was for later and is due waits, too: a lock may keep it from being released.

constexpr std::string_view ages = R"sql(
    GREATEST(0, COALESCE(TIMESTAMPDIFF(SECOND, LEAST(COALESCE(
      (SELECT MIN((SELECT GREATEST(n.ocurrida_en, COALESCE(n.no_antes_de, n.ocurrida_en))
                   FROM notificaciones_pendientes n FORCE INDEX (notificaciones_por_expandir)
                   WHERE n.estado = 'pendiente' AND n.aplazada_hasta IS NULL AND n.entidad_id = t.id
                   ORDER BY n.entidad_id, n.id LIMIT 1))
       FROM entidades t), UTC_TIMESTAMP(3)), COALESCE(
      (SELECT aplazada_hasta FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
       WHERE estado = 'pendiente' AND aplazada_hasta > '1970-01-01' ORDER BY estado, aplazada_hasta LIMIT 1),
      UTC_TIMESTAMP(3))), UTC_TIMESTAMP(3)), 0)) AS notificacion_s,
    GREATEST(0, COALESCE(TIMESTAMPDIFF(SECOND, (SELECT MIN()sql";
/// An urgent delivery has a `proximo_intento` an hour before its creation. Where one comes first, the time of
/// the others is that of the first of the last hour: it is at most an hour too late.
constexpr std::string_view first_of_webhook = R"sql(
      (SELECT IF(d.creada_en <= d.proximo_intento, d.proximo_intento, LEAST(d.creada_en, COALESCE(
         (SELECT o.proximo_intento FROM entregas o FORCE INDEX (entregas_por_reclamar)
          WHERE o.espera = 'pendiente' AND o.webhook_id = w.id AND o.proximo_intento > UTC_TIMESTAMP(3) - INTERVAL 1 HOUR
          ORDER BY o.webhook_id, o.proximo_intento LIMIT 1), d.creada_en)))
       FROM entregas d FORCE INDEX (entregas_por_reclamar)
       WHERE d.espera = 'pendiente' AND d.webhook_id = w.id
       ORDER BY d.webhook_id, d.proximo_intento LIMIT 1))sql";
constexpr std::string_view from_entities = R"sql(
      FROM entidades t
      STRAIGHT_JOIN)sql";
constexpr std::string_view webhooks_at_work = R"sql(plazas
      STRAIGHT_JOIN webhooks w FORCE INDEX (webhooks_cinco_por_entidad)
        ON w.entidad_id = t.id AND w.plaza = plazas.plaza
      LEFT JOIN webhook_ejecuciones x ON x.webhook_id = w.id
      WHERE x.descansa_hasta IS NULL OR x.descansa_hasta <= UTC_TIMESTAMP(3))sql";
constexpr std::string_view and_the_rest = R"sql(), UTC_TIMESTAMP(3)), 0)) AS entrega_s,
    (SELECT pausada FROM control_envio WHERE id = 1) AS pausada,
    (SELECT COUNT(*) FROM pausas_envio WHERE hasta IS NULL OR hasta > UTC_TIMESTAMP(3)) AS partes_pausadas,
    (SELECT salto_ms DIV 1000 FROM reloj_visto WHERE id = 1) AS salto_s)sql";
constexpr std::string_view end_of_min = ")";

constexpr auto whole_queue = joined<counts<all_of, none>, ages, first_of_webhook, end_of_min, from_entities,
                                    every_slot, webhooks_at_work, and_the_rest>;
constexpr auto queue_up_to_limit = joined<counts<some_of, limited>, ages, first_of_webhook, end_of_min,
                                          from_entities, every_slot, webhooks_at_work, and_the_rest>;

// The webhooks with due deliveries, the longest due first. Used only while an entity, a webhook or a host is
// paused: the program then skips the paused webhooks, because SQL cannot tell the host of a URL.

constexpr std::string_view select_webhooks = R"sql(
  SELECT id, entidad_id, url, TIMESTAMPDIFF(SECOND, vence, UTC_TIMESTAMP(3)) AS entrega_s
  FROM (SELECT w.id, w.entidad_id, w.url, )sql";
constexpr std::string_view as_due = " AS vence";
constexpr std::string_view longest_due_first = R"sql() v
  WHERE vence <= UTC_TIMESTAMP(3) ORDER BY vence)sql";
constexpr auto webhooks_due = joined<select_webhooks, first_of_webhook, as_due, from_entities, every_slot,
                                     webhooks_at_work, longest_due_first>;

/// Without this setting, MySQL may take auto_increment from statistics that are up to a day old.
constexpr std::string_view no_old_statistics = "SET SESSION information_schema_stats_expiry = 0";
constexpr std::string_view next_number = R"sql(
  SELECT CAST(9223372036854775807 - LEAST(auto_increment, 9223372036854775807) AS CHAR) AS quedan
  FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = 'notificaciones_pendientes')sql";

constexpr std::string_view set_pause = R"sql(
  UPDATE control_envio SET pausada = ?, desde = IF(?, UTC_TIMESTAMP(3), NULL)
  WHERE id = 1 AND pausada <> ?)sql";
constexpr std::string_view pause_state = R"sql(
  SELECT pausada FROM control_envio WHERE id = 1)sql";

/// How long the oldest due delivery has been due, among the webhooks that are not paused; 0: none is due.
std::int64_t oldest_unpaused_s(Session& session) {
  const auto pauses = read_pauses(session).parts;
  for (const auto& row : session.query(webhooks_due)) {
    const bool paused = std::ranges::any_of(pauses, [&](const Pause& pause) {
      return covers(pause, row.integer("entidad_id"), row.integer("id"), row.text("url"));
    });
    if (!paused) return row.integer("entrega_s");
  }
  return 0;
}

}  // namespace

QueueStatus queue_status(Session& session, std::optional<std::int64_t> limit) {
  const auto rows = limit ? session.run_query(queue_up_to_limit,
                                              std::vector<Parameter>(number_of_counts, Parameter(*limit)))
                          : session.query(whole_queue);
  const auto& row = rows.at(0);
  const auto oldest_notification = row.integer("notificacion_s");
  const auto paused_parts = row.integer("partes_pausadas");
  auto oldest_delivery = row.integer("entrega_s");
  if (paused_parts > 0 && oldest_delivery > 0) oldest_delivery = oldest_unpaused_s(session);
  return {row.integer("notificaciones_pendientes"),
          row.integer("entregas_pendientes"),
          row.integer("en_curso"),
          row.integer("retenidas"),
          row.integer("fallidas"),
          row.integer("rechazadas"),
          std::max(oldest_notification, oldest_delivery),
          oldest_notification,
          oldest_delivery,
          row.boolean("pausada"),
          row.integer("salto_s"),
          paused_parts,
          row.integer("aplazadas")};
}

std::optional<double> notification_numbers_left(Session& session) {
  if (!session.is_mariadb()) session.execute(std::string(no_old_statistics));
  const auto rows = session.query(next_number);
  const auto left = rows.empty() ? std::nullopt : rows.front().optional_text("quedan");
  return left ? std::optional(std::stod(*left)) : std::nullopt;
}

bool set_paused(Session& session, bool paused) {
  return session.update(set_pause, paused, paused, paused) == 1;
}

bool is_paused(Session& session) { return session.query(pause_state).at(0).boolean("pausada"); }

}  // namespace store
