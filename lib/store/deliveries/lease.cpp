#include "lib/store/deliveries/lease.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "lib/store/session/isolate.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

/// Keeps the due time, so that the delivery comes before those that fell due later. The delivery was due when
/// it was claimed: if its due time is still to come, the clock has gone back, and the present time replaces
/// the due time. (A release up to 0.2.0 claims deliveries ahead of their schedule that are not due. They have
/// no `prevista`, and keep their due time.) A date of 0000-00-00 may not be written again. Updates by primary
/// key alone: a join might read all rows, and wait for locked ones. Run without_waiting.
constexpr std::string_view make_due = R"sql(
  UPDATE entregas FORCE INDEX (PRIMARY)
  SET estado = 'pendiente', arriendo = NULL, arriendo_hasta = NULL,
    proximo_intento = GREATEST(TIMESTAMP'1970-01-01 00:00:00',
      IF(tipo = 'programado' OR prevista IS NOT NULL, LEAST(proximo_intento, UTC_TIMESTAMP(3)), proximo_intento))
  WHERE id IN)sql";
constexpr std::string_view if_expired = "AND arriendo_hasta < UTC_TIMESTAMP(3)";

constexpr std::string_view leases_of = R"sql(
  SELECT id, arriendo FROM entregas FORCE INDEX (PRIMARY) WHERE id IN)sql";
constexpr std::string_view if_leased = "AND estado = 'en_curso'";
constexpr std::string_view if_leased_and_free = "AND estado = 'en_curso' FOR UPDATE SKIP LOCKED";

/// Reads without a lock; the rows are then locked by key. A locking read would also lock the index entries of
/// ended leases, which InnoDB keeps while a backup holds its snapshot. Each takes a microsecond or more.
constexpr std::string_view expired_leases = R"sql(
  SELECT id, CAST(arriendo_hasta AS CHAR) AS hasta FROM entregas FORCE INDEX (entregas_arriendos_vencidos)
  WHERE arriendo_hasta < UTC_TIMESTAMP(3) AND (arriendo_hasta > ? OR (arriendo_hasta = ? AND id > ?) OR ?)
  ORDER BY arriendo_hasta, id LIMIT ?)sql";
/// Skips locked rows: another session records their results, or recovers them.
constexpr std::string_view if_expired_and_free =
    "AND arriendo_hasta < UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED";

/// Returns the deliveries that still have their lease, according to the ids and tokens in `rows`.
std::vector<LeasedDelivery> under_lease(const std::vector<LeasedDelivery>& deliveries, const Rows& rows) {
  std::map<DeliveryId, std::uint64_t> leases;
  for (const auto& row : rows) leases.emplace(row.integer("id"), row.unsigned_integer("arriendo"));
  std::vector<LeasedDelivery> result;
  std::ranges::copy_if(deliveries, std::back_inserter(result), [&](const auto& delivery) {
    const auto lease = leases.find(delivery.id);
    return lease != leases.end() && lease->second == delivery.lease;
  });
  return result;
}

std::vector<DeliveryId> ids_of(const std::vector<LeasedDelivery>& deliveries) {
  std::vector<DeliveryId> ids;
  ids.reserve(deliveries.size());
  for (const auto& delivery : deliveries) ids.push_back(delivery.id);
  std::ranges::sort(ids);
  return ids;
}

/// Releases the leases in one transaction. Returns the deliveries with locked rows, which keep their lease.
std::vector<LeasedDelivery> release_part(Session& session, const std::vector<LeasedDelivery>& deliveries) {
  return transaction(session, [&] {
    const auto ids = ids_of(deliveries);
    const auto ours = under_lease(deliveries, query_ids(session, leases_of, ids, if_leased_and_free));
    update_ids(session, without_waiting<make_due>, ids_of(ours), "");
    // Released deliveries have no lease, so only the locked ones are left.
    return under_lease(deliveries, query_ids(session, leases_of, ids, if_leased));
  });
}

}  // namespace

std::vector<LeasedDelivery> release_leases(Session& session, const std::vector<LeasedDelivery>& deliveries) {
  if (deliveries.empty()) return {};
  std::vector<LeasedDelivery> left;
  isolate(
      deliveries,
      [&](const auto& part) { std::ranges::copy(release_part(session, part), std::back_inserter(left)); },
      [&](const auto& delivery, const DatabaseError&) { left.push_back(delivery); },
      [&](const DatabaseError& error) { return is_locked_place(session, error); });
  return left;
}

RecoveredLeases recover_expired_leases(Session& session, unsigned limit,
                                       const std::set<DeliveryId>& unrecorded) {
  RecoveredLeases result;
  const auto recover = [&](const std::vector<DeliveryId>& part) {
    result.count += transaction(session, [&] {
      return update_ids(session, without_waiting<make_due>,
                        ids_in(query_ids(session, leases_of, part, if_expired_and_free)), if_expired);
    });
  };
  UtcTime until{};
  DeliveryId last = 0;
  for (;;) {
    // Nearly always the first query finds nothing, so that a call is one statement.
    const auto wanted = limit - result.count;
    const auto rows = session.query(expired_leases, until, until, last, last == 0, wanted);
    if (rows.empty()) return result;
    until = rows.back().time("hasta");
    last = rows.back().integer("id");
    auto ids = ids_in<DeliveryId>(rows);
    std::erase_if(ids, [&](DeliveryId id) { return unrecorded.contains(id); });
    isolate(
        ids, recover,
        [&](DeliveryId id, const DatabaseError& error) {
          if (is_refused(error)) result.refusal = "delivery " + to_string(id) + ": " + error.what();
        },
        [&](const DatabaseError& error) { return is_refused(error) || is_locked_place(session, error); });
    if (rows.size() < wanted || result.count >= limit) return result;
  }
}

}  // namespace store
