#include "lib/store/replays/request_quota.hpp"

#include <algorithm>
#include <string_view>

namespace store {

namespace {

constexpr std::int64_t hour_us = 3'600'000'000;

struct Bucket {
  std::string_view count_one;
  std::string_view until_one_more;
};

constexpr Bucket replay_requests{R"sql(
  UPDATE altas_webhook
  SET reenvios_saldados_hasta =
    GREATEST(COALESCE(reenvios_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
  WHERE entidad_id = ?
    AND GREATEST(COALESCE(reenvios_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
      <= UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)sql",
                                 R"sql(
  SELECT CEILING(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR,
                               reenvios_saldados_hasta + INTERVAL ? MICROSECOND) / 1000000) AS falta_s
  FROM altas_webhook WHERE entidad_id = ?)sql"};

constexpr Bucket diagnoses{R"sql(
  UPDATE altas_webhook
  SET diagnosticos_saldados_hasta =
    GREATEST(COALESCE(diagnosticos_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
  WHERE entidad_id = ?
    AND GREATEST(COALESCE(diagnosticos_saldados_hasta, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)) + INTERVAL ? MICROSECOND
      <= UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)sql",
                           R"sql(
  SELECT CEILING(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR,
                               diagnosticos_saldados_hasta + INTERVAL ? MICROSECOND) / 1000000) AS falta_s
  FROM altas_webhook WHERE entidad_id = ?)sql"};

std::optional<unsigned> count(Session& session, const Bucket& bucket, EntityId entity,
                              unsigned max_per_hour) {
  const auto share_us = hour_us / max_per_hour;
  if (session.update(bucket.count_one, share_us, entity, share_us) == 1) return std::nullopt;
  const auto wait_s = session.query(bucket.until_one_more, share_us, entity).at(0).integer("falta_s");
  return static_cast<unsigned>(std::max(std::int64_t{1}, wait_s));
}

}  // namespace

std::optional<unsigned> count_replay_request(Session& session, EntityId entity, unsigned max_per_hour) {
  return count(session, replay_requests, entity, max_per_hour);
}

std::optional<unsigned> count_diagnosis(Session& session, EntityId entity, unsigned max_per_hour) {
  return count(session, diagnoses, entity, max_per_hour);
}

}  // namespace store
