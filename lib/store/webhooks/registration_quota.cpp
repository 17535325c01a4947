#include "store/webhooks/registration_quota.hpp"

#include <algorithm>
#include <string_view>

namespace store {

namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t hour_us = 3600 * second_us;

constexpr std::int64_t share_us(unsigned max_per_hour) { return hour_us / max_per_hour; }

/// Within an hour from now: a time further ahead is that of a clock that has gone back since. The row changes
/// in any case: of two nodes of a cluster that take it at once, one takes it again.
constexpr std::string_view take_turn = R"sql(
  INSERT INTO altas_webhook (entidad_id, saldadas_hasta) VALUES (?, UTC_TIMESTAMP(6))
  ON DUPLICATE KEY UPDATE saldadas_hasta =
    LEAST(GREATEST(saldadas_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR), turnos = turnos + 1)sql";
constexpr std::string_view used = R"sql(
  SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), saldadas_hasta) AS usado_us
  FROM altas_webhook WHERE entidad_id = ?)sql";
constexpr std::string_view count_one = R"sql(
  UPDATE altas_webhook SET saldadas_hasta = saldadas_hasta + INTERVAL ? MICROSECOND WHERE entidad_id = ?)sql";

}  // namespace

std::optional<unsigned> RegistrationTurn::wait_s(unsigned max_per_hour) const {
  // Of as many shares as fit into the hour: 3600 s in parts of 1/7 leave a rest.
  const auto excess = used_us + share_us(max_per_hour) - hour_us;
  if (excess <= 0) return std::nullopt;
  return static_cast<unsigned>((excess + second_us - 1) / second_us);
}

RegistrationTurn take_registration_turn(Session& session, EntityId entity) {
  session.update(take_turn, entity);
  return {std::max(std::int64_t{0}, session.query(used, entity).at(0).integer("usado_us"))};
}

void count_registration(Session& session, EntityId entity, unsigned max_per_hour) {
  session.update(count_one, share_us(max_per_hour), entity);
}

}  // namespace store
