#include "store/replays/request_quota.hpp"

#include <algorithm>
#include <string_view>

namespace store {

namespace {

constexpr std::int64_t hour_us = 3'600'000'000;

constexpr std::string_view count_one = R"sql(
  UPDATE altas_webhook
  SET reenvios_saldados_hasta =
    GREATEST(COALESCE(reenvios_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
  WHERE entidad_id = ?
    AND GREATEST(COALESCE(reenvios_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
      <= UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)sql";
constexpr std::string_view until_one_more = R"sql(
  SELECT CEILING(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR,
                               reenvios_saldados_hasta + INTERVAL ? MICROSECOND) / 1000000) AS falta_s
  FROM altas_webhook WHERE entidad_id = ?)sql";

}  // namespace

std::optional<unsigned> count_replay_request(Session& session, EntityId entity, unsigned max_per_hour) {
  const auto share_us = hour_us / max_per_hour;
  if (session.update(count_one, share_us, entity, share_us) == 1) return std::nullopt;
  const auto wait_s = session.query(until_one_more, share_us, entity).at(0).integer("falta_s");
  return static_cast<unsigned>(std::max(std::int64_t{1}, wait_s));
}

}  // namespace store
