#include "lib/store/webhooks/registration_quota.hpp"

#include <algorithm>
#include <string_view>

namespace store {

namespace {

constexpr std::int64_t hour_us = 3'600'000'000;

/// Bounds the times to an hour from now: a later one comes from a clock that has since gone back. Changes the
/// row in any case, so that of two cluster nodes that take the lock at the same time one must repeat.
constexpr std::string_view take_turn = R"sql(
  INSERT INTO altas_webhook (entidad_id, saldadas_hasta) VALUES (?, UTC_TIMESTAMP(6))
  ON DUPLICATE KEY UPDATE saldadas_hasta =
    LEAST(GREATEST(saldadas_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR),
    reenvios_saldados_hasta = LEAST(reenvios_saldados_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR),
    diagnosticos_saldados_hasta = LEAST(diagnosticos_saldados_hasta, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR), turnos = turnos + 1)sql";
/// Counts one share of the hour. Rounding down keeps N shares within it: 3600 s divided by 7 leaves a
/// remainder.
constexpr std::string_view count_one = R"sql(
  UPDATE altas_webhook SET saldadas_hasta = saldadas_hasta + INTERVAL ? MICROSECOND
  WHERE entidad_id = ? AND saldadas_hasta + INTERVAL ? MICROSECOND <= UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)sql";
constexpr std::string_view until_one_more = R"sql(
  SELECT CEILING(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, saldadas_hasta + INTERVAL ? MICROSECOND)
                 / 1000000) AS falta_s
  FROM altas_webhook WHERE entidad_id = ?)sql";

}  // namespace

void take_registration_turn(Session& session, EntityId entity) { session.update(take_turn, entity); }

std::optional<unsigned> count_registration(Session& session, EntityId entity, unsigned max_per_hour) {
  const auto share_us = hour_us / max_per_hour;
  if (session.update(count_one, share_us, entity, share_us) == 1) return std::nullopt;
  const auto wait_s = session.query(until_one_more, share_us, entity).at(0).integer("falta_s");
  return static_cast<unsigned>(std::max(std::int64_t{1}, wait_s));
}

}  // namespace store
