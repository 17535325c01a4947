#include "lib/store/quotas/quotas.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/json_rows.hpp"

namespace store {

namespace {

// lock_row and lock_test_row always change the row that they lock. A cluster then refuses one of two
// transactions that lock the row on different nodes, and that transaction is repeated. A column `…_hasta` has
// the time at which a bucket will be full, normally within an hour or a day from now (the bucket's window).
// The statements cut a later time to the end of the window. A time is later if it was written before the
// clock went back, or for a test event larger than limits.test_bytes.
constexpr std::string_view lock_row = R"sql(
  INSERT INTO altas_webhook (entidad_id, saldadas_hasta) VALUES (?, UTC_TIMESTAMP(6))
  ON DUPLICATE KEY UPDATE turnos = IF(turnos < 4294967295, turnos + 1, 0),
    saldadas_hasta = LEAST(saldadas_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR),
    reenvios_saldados_hasta = LEAST(reenvios_saldados_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR),
    diagnosticos_saldados_hasta = LEAST(diagnosticos_saldados_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR))sql";
constexpr std::string_view lock_test_row = R"sql(
  INSERT INTO turnos_prueba (entidad_id, turno) VALUES (?, 1) ON DUPLICATE KEY UPDATE turno = IF(turno < 4294967295, turno + 1, 0),
    bytes_saldados_hasta = LEAST(bytes_saldados_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 DAY))sql";

struct Bucket {
  std::string_view table;
  std::string_view full_at;
  std::string_view window;
};

// The next two statements serve every bucket: its names replace {table}, {full_at} and {window}.

/// Takes an amount out of a bucket: sets {full_at}, the time at which the bucket will be full, later by the
/// time that the bucket takes to regain the amount. If the bucket is not full now and would then not be full
/// within {window} from now, changes no row: the amount is refused.
constexpr std::string_view take_share = R"sql(
  UPDATE {table}
  SET {full_at} = GREATEST(COALESCE({full_at}, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
  WHERE entidad_id = ?
    AND (COALESCE({full_at}, UTC_TIMESTAMP(6)) <= UTC_TIMESTAMP(6)
      OR {full_at} + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6) + INTERVAL {window}))sql";
constexpr std::string_view until_it_passes = R"sql(
  SELECT CEILING(LEAST(
      TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL {window}, {full_at} + INTERVAL ? MICROSECOND),
      TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), {full_at})) / 1000000) AS falta_s
  FROM {table} WHERE entidad_id = ?)sql";
constexpr std::string_view until_full = R"sql(
  SELECT GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), {full_at}), 0)) AS falta_us
  FROM {table} WHERE entidad_id = ?)sql";

/// A running replay counts as its whole cap (`tope`), an ended replay as the number of deliveries that it
/// replayed, and either as at least one. Replays are found by their entity, not by its webhooks, because the
/// replay of a deleted webhook runs until the dispatcher cancels it.
constexpr std::string_view replayed_in_a_day = R"sql(
  SELECT (SELECT COALESCE(SUM(GREATEST(v.tope, 1)), 0)
          FROM reenvios v FORCE INDEX (reenvios_terminados_de_entidad)
          WHERE v.entidad_id = ? AND v.terminado_en IS NULL)
      + COALESCE(SUM(GREATEST(r.reenviadas, 1)), 0) AS usadas,
    TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), MIN(r.terminado_en) + INTERVAL 1 DAY) AS falta_s
  FROM reenvios r FORCE INDEX (reenvios_terminados_de_entidad)
  WHERE r.entidad_id = ? AND r.terminado_en > UTC_TIMESTAMP(3) - INTERVAL 1 DAY)sql";

constexpr std::string_view counted_tests = R"sql(
  SELECT p.entrega_id, e.id IS NOT NULL AND e.terminada_en IS NULL AS pendiente
  FROM pruebas_pendientes p LEFT JOIN entregas e ON e.id = p.entrega_id
  WHERE p.entidad_id = ?)sql";
constexpr std::string_view forget_ended = R"sql(
  DELETE p FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN pruebas_pendientes p FORCE INDEX (PRIMARY) ON p.entidad_id = ? AND p.entrega_id = j.id)sql";
constexpr std::string_view count_tests = R"sql(
  INSERT INTO pruebas_pendientes (entidad_id, entrega_id)
  SELECT ?, id FROM entregas WHERE notificacion_id = ?)sql";

constexpr unsigned hour_s = 3600;
constexpr unsigned day_s = 86400;
constexpr unsigned tests_retry_s = 30;  // by then a receiver that works has answered a test

Bucket bucket_of(Quota quota) {
  switch (quota) {
    case Quota::replay_requests:
      return {"altas_webhook", "reenvios_saldados_hasta", "1 HOUR"};
    case Quota::diagnostics:
      return {"altas_webhook", "diagnosticos_saldados_hasta", "1 HOUR"};
    case Quota::test_bytes:
      return {"turnos_prueba", "bytes_saldados_hasta", "1 DAY"};
    case Quota::registrations:
    case Quota::changes:
      return {"altas_webhook", "saldadas_hasta", "1 HOUR"};
    case Quota::replayed:
    case Quota::pending_tests:
    case Quota::contact_codes:
    case Quota::codes_to_address:
      break;  // other tables say how much is used
  }
  throw std::logic_error("no bucket");
}

std::string statement_of(const Bucket& bucket, std::string_view text) {
  std::string statement(text);
  const auto name = [&](std::string_view placeholder, std::string_view by) {
    for (auto at = statement.find(placeholder); at != std::string::npos; at = statement.find(placeholder, at))
      statement.replace(at, placeholder.size(), by);
  };
  name("{table}", bucket.table);
  name("{full_at}", bucket.full_at);
  name("{window}", bucket.window);
  return statement;
}

/// The time that a bucket of `limit` takes to regain `amount`.
std::int64_t share_us(Quota quota, std::uint64_t limit, std::uint64_t amount) {
  const double window_us = window_s(quota) * 1e6;
  const auto share = window_us * static_cast<double>(amount) / static_cast<double>(limit);
  // Capped: any share longer than the window passes only when the bucket is full.
  return static_cast<std::int64_t>(std::min(share, 2 * window_us));
}

struct CountedTests {
  QuotaLeft left;
  std::vector<DeliveryId> ended;  // still counted in the table
};
CountedTests count_pending(Session& session, EntityId entity, std::uint64_t limit) {
  CountedTests result{{Quota::pending_tests, limit, limit, tests_retry_s, tests_retry_s}, {}};
  if (limit == 0) return result;
  for (const auto& row : session.query(counted_tests, entity)) {
    if (!row.boolean("pendiente"))
      result.ended.push_back(row.integer("entrega_id"));
    else if (result.left.left > 0)
      --result.left.left;
  }
  return result;
}

}  // namespace

void lock_quotas(Session& session, EntityId entity) { session.update(lock_row, entity); }

void lock_test_quotas(Session& session, EntityId entity) { session.update(lock_test_row, entity); }

void use_quota(Session& session, Quota quota, EntityId entity, std::uint64_t limit, std::uint64_t amount) {
  if (limit == 0) return;
  const auto bucket = bucket_of(quota);
  const auto share = share_us(quota, limit, amount);
  if (session.update(statement_of(bucket, take_share), share, entity, share) == 1) return;
  const auto wait_s =
      session.query(statement_of(bucket, until_it_passes), share, entity).at(0).integer("falta_s");
  throw OverQuota(quota, static_cast<unsigned>(std::max(std::int64_t{1}, wait_s)));
}

void QuotaLeft::require(std::uint64_t amount) const {
  if (limit == 0 || std::max<std::uint64_t>(amount, 1) <= left) return;
  throw OverQuota(quota, amount > limit ? retry_beyond_s : retry_after_s, left);
}

QuotaLeft replays_left(Session& session, EntityId entity, unsigned limit) {
  constexpr std::uint64_t no_limit = std::numeric_limits<std::uint32_t>::max();  // largest `reenvios.tope`
  if (limit == 0) return {Quota::replayed, 0, no_limit, day_s, day_s};
  const auto rows = session.query(replayed_in_a_day, entity, entity);
  const auto used = rows.at(0).unsigned_integer("usadas");
  // If no replay ended in the last 24 h, all that is used belongs to running replays. Their end is unknown,
  // so the entity is told to wait an hour.
  const auto first = rows.at(0).optional_integer("falta_s").value_or(hour_s);
  return {Quota::replayed, limit, limit - std::min<std::uint64_t>(used, limit),
          static_cast<unsigned>(std::clamp<std::int64_t>(first, 1, day_s)), day_s};
}

QuotaLeft peek_pending_tests_left(Session& session, EntityId entity, std::uint64_t limit) {
  return count_pending(session, entity, limit).left;
}

QuotaLeft pending_tests_left(Session& session, EntityId entity, std::uint64_t limit) {
  const auto counted = count_pending(session, entity, limit);
  if (!counted.ended.empty()) session.update(forget_ended, json_ids(counted.ended), entity);
  return counted.left;
}

unsigned window_s(Quota quota) {
  return quota == Quota::test_bytes || quota == Quota::replayed || quota == Quota::contact_codes ? day_s
                                                                                                 : hour_s;
}

BucketLevel level_of(Session& session, Quota quota, EntityId entity, std::uint64_t limit) {
  if (quota == Quota::contact_codes) {
    const auto codes = codes_left(session, entity, limit);
    return {codes.left, codes.left == limit ? 0 : codes.retry_after_s};
  }
  constexpr double rounding = 1e-6;  // so that one request does not count as two
  const auto rows = session.query(statement_of(bucket_of(quota), until_full), entity);
  const double window_us = window_s(quota) * 1e6;
  const double missing_us =
      rows.empty() ? 0 : std::min(static_cast<double>(rows.at(0).integer("falta_us")), window_us);
  const double used = std::ceil(missing_us / window_us * static_cast<double>(limit) - rounding);
  if (used <= 0) return {limit, 0};
  const double more_us = missing_us - (used - 1) * window_us / static_cast<double>(limit);
  return {limit - std::min(static_cast<std::uint64_t>(used), limit),
          static_cast<unsigned>(std::max(1.0, std::ceil(more_us / 1e6)))};
}

void count_pending_tests(Session& session, EntityId entity, NotificationId notification) {
  session.update(count_tests, entity, notification);
}

}  // namespace store
