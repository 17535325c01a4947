#include "store/queue/clock_watch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "store/session/batches.hpp"
#include "store/session/json_rows.hpp"

namespace store {

namespace json = webhook::json;

namespace {

using platform::Milliseconds;
using Stage = ClockMending::Stage;

constexpr Milliseconds note_interval{10000};  // between writes, whoever makes them

std::int64_t microseconds(Milliseconds time) { return std::int64_t{time.count()} * 1000; }

std::string locked_ids(Session& session, std::string_view sql, Milliseconds bound) {
  json::Array ids;
  for (const auto& row : session.query(sql, microseconds(bound), batch_rows))
    ids.emplace_back(row.integer(0));
  return json::dump(ids);
}

std::uint64_t shorten_leases(Session& session, Milliseconds lease) {
  return transaction(session, [&] {
    const auto ids = locked_ids(session,
                                "SELECT id FROM entregas WHERE arriendo_hasta > UTC_TIMESTAMP(3) + INTERVAL ?"
                                " MICROSECOND ORDER BY arriendo_hasta LIMIT ? FOR UPDATE SKIP LOCKED",
                                lease);
    return session.update("UPDATE " STORE_JSON_IDS
                          " j STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id"
                          " SET e.arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND",
                          ids, microseconds(lease));
  });
}

std::uint64_t shorten_rests(Session& session, Milliseconds rest) {
  return transaction(session, [&] {
    const auto ids = locked_ids(session,
                                "SELECT webhook_id FROM webhook_ejecuciones WHERE descansa_hasta >"
                                " UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND LIMIT ? FOR UPDATE SKIP LOCKED",
                                rest);
    return session.update(
        "UPDATE " STORE_JSON_IDS
        " j STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id"
        " SET x.descansa_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND",
        ids, microseconds(rest));
  });
}

/// On to the next webhook with something pending; done when there is none.
void next_webhook(Session& session, ClockMending& mending) {
  const auto rows = session.query("SELECT webhook_id, " STORE_EPOCH_MS("UTC_TIMESTAMP(3)")
                                  " FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente'"
                                  " AND webhook_id > ? ORDER BY webhook_id LIMIT 1",
                                  mending.webhook);
  if (rows.empty()) {
    mending.stage = Stage::done;
    return;
  }
  mending.webhook = rows.front().integer(0);
  mending.due = rows.front().time(1);
  mending.delivery = 0;
}

/// The next of the deliveries that wait, in the order in which they fall due, behind which a shortened one
/// goes.
Rows lock_waiting(Session& session, const ClockMending& mending) {
  return session.query(
      "SELECT id, " STORE_EPOCH_MS(
          "proximo_intento") ", paso, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), proximo_intento)"
                             " FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = 'pendiente' AND"
                             " webhook_id = ? AND proximo_intento >= ? AND (proximo_intento > ? OR id > ?)"
                             " ORDER BY proximo_intento, id LIMIT ? FOR UPDATE SKIP LOCKED",
      mending.webhook, mending.due, mending.due, mending.delivery, batch_rows);
}

std::uint64_t shorten_waits(Session& session, const platform::DeliverySettings& settings,
                            const Rows& waiting) {
  json::Array late;
  for (const auto& row : waiting) {
    const auto bound = microseconds(longest_wait(settings, static_cast<unsigned>(row.integer(2))));
    if (row.integer(3) > bound) late.emplace_back(json::Array{row.integer(0), bound});
  }
  if (late.empty()) return 0;
  return session.update(
      "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', bound BIGINT PATH '$[1]')) j"
      " STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id"
      " SET e.proximo_intento = UTC_TIMESTAMP(3) + INTERVAL FLOOR(RAND() * j.bound) MICROSECOND",
      json::dump(late));
}

void mend_deliveries(Session& session, const platform::DeliverySettings& settings, ClockMending& mending) {
  Rows waiting;
  mending.rescheduled += transaction(session, [&] {
    waiting = lock_waiting(session, mending);
    return shorten_waits(session, settings, waiting);
  });
  if (waiting.size() < batch_rows) return next_webhook(session, mending);
  mending.delivery = waiting.back().integer(0);
  mending.due = waiting.back().time(1);
}

}  // namespace

Milliseconds watch_clock(Session& session) {
  const auto rows = session.query(
      "SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), hora) DIV 1000 FROM reloj_visto WHERE id = 1");
  const Milliseconds behind(rows.at(0).integer(0));
  if (behind > clock_tolerance) return behind;
  if (behind < -note_interval)
    session.update("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) WHERE id = 1 AND hora < UTC_TIMESTAMP(3)");
  return {};
}

Milliseconds longest_wait(const platform::DeliverySettings& settings, unsigned failures) {
  if (failures == 0) return {};
  const auto& schedule = settings.retry_schedule;
  const auto step = schedule.at(std::min<std::size_t>(failures, schedule.size()) - 1);
  return Milliseconds(
      static_cast<std::int64_t>(static_cast<double>(step.count()) * (1 + settings.retry_jitter)));
}

void mend_clock(Session& session, const platform::DeliverySettings& settings, ClockMending& mending) {
  switch (mending.stage) {
    case Stage::leases: {
      const auto changed = shorten_leases(session, settings.lease);
      mending.leases += changed;
      if (changed < batch_rows) mending.stage = Stage::rests;
      return;
    }
    case Stage::rests: {
      const auto changed = shorten_rests(session, settings.retry_schedule.front());
      mending.rests += changed;
      if (changed < batch_rows) mending.stage = Stage::deliveries;
      return;
    }
    case Stage::deliveries:
      if (mending.webhook == 0)
        next_webhook(session, mending);
      else
        mend_deliveries(session, settings, mending);
      if (mending.stage == Stage::done)
        session.update("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) WHERE id = 1");
      return;
    case Stage::done:
      return;
  }
}

}  // namespace store
