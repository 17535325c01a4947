#include "lib/store/maintenance/clock_watch.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"

namespace store {

namespace {

using platform::Milliseconds;
using Stage = ClockMending::Stage;

/// A dispatcher notes the database's time when the last note, of any dispatcher, is older than this.
constexpr Milliseconds note_interval{10000};
/// If the database's clock gains more than this on ours, it has jumped.
constexpr Milliseconds longest_gain{std::chrono::hours(1)};
/// If the last note is older than this when a dispatcher reads the clock for the first time, the clock seems
/// to have jumped.
constexpr Milliseconds longest_absence{std::chrono::days(3)};

constexpr std::string_view read_clock = R"sql(
  SELECT COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), hora) DIV 1000, 0) AS atraso_ms,
    CAST(UTC_TIMESTAMP(3) AS CHAR) AS ahora, salto_ms, aceptados
  FROM reloj_visto WHERE id = 1)sql";
/// Without notifications a jump does no harm: there is nothing to purge.
constexpr std::string_view any_notification = "SELECT 1 FROM notificaciones_pendientes LIMIT 1";
/// Skips a locked row: the next round notes the time.
constexpr std::string_view lock_clock = R"sql(
  SELECT id FROM reloj_visto FORCE INDEX (PRIMARY) WHERE id = 1 FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view note_clock_if_later = R"sql(
  UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) WHERE id = 1 AND hora < UTC_TIMESTAMP(3))sql";
/// Notes the time after a jump back, which may also end a jump forward. Assignments are evaluated from left
/// to right, so the second assignment to `salto_ms` uses the result of the first.
constexpr std::string_view note_clock = R"sql(
  UPDATE reloj_visto
  SET salto_ms = GREATEST(0, salto_ms - GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), hora), 0)) DIV 1000),
    salto_ms = IF(salto_ms > ?, salto_ms, 0), hora = UTC_TIMESTAMP(3)
  WHERE id = 1)sql";
constexpr std::string_view note_jump = R"sql(
  UPDATE reloj_visto SET salto_ms = GREATEST(salto_ms, ?), hora = UTC_TIMESTAMP(3) WHERE id = 1)sql";
constexpr std::string_view jump_accepted = R"sql(
  UPDATE reloj_visto SET salto_ms = 0, aceptados = LEAST(aceptados + 1, 4294967295), hora = UTC_TIMESTAMP(3) WHERE id = 1)sql";

constexpr std::string_view lock_long_leases = R"sql(
  SELECT id FROM entregas WHERE arriendo_hasta > UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
  ORDER BY arriendo_hasta LIMIT ? FOR UPDATE SKIP LOCKED)sql";
/// On MariaDB this and the next UPDATEs fail at once if another session has locked a row or a gap
/// (lib/store/deliveries/result_rows.cpp says why).
constexpr std::string_view shorten_leases_to = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND)sql";

constexpr std::string_view lock_long_rests = R"sql(
  SELECT webhook_id AS id FROM webhook_ejecuciones
  WHERE descansa_hasta > UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
    OR adelantar_en > UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
    OR fallos_desde > UTC_TIMESTAMP(3) OR fallos_ultimo > UTC_TIMESTAMP(3)
  LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view shorten_rests_to = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id
  SET x.descansa_hasta = LEAST(x.descansa_hasta, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND),
    x.adelantar_en = LEAST(x.adelantar_en, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND),
    x.fallos_desde = LEAST(x.fallos_desde, UTC_TIMESTAMP(3)),
    x.fallos_ultimo = LEAST(x.fallos_ultimo, UTC_TIMESTAMP(3)))sql";

/// If an outage ended while the clock was ahead, its end lies in the future. All time until then would count
/// as outage, and outages do not count towards the deactivation of a webhook. If an outage began while the
/// clock was ahead and still lasts, its start lies in the future, and its time so far would not count as
/// outage. (The dispatcher that has the outage sets `visto_en` every 10 s, but never `desde`.)
constexpr std::string_view end_outages_by_now = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE cortes_envio FORCE INDEX (cortes_por_visto)
  SET desde = LEAST(desde, UTC_TIMESTAMP(3)), visto_en = LEAST(visto_en, UTC_TIMESTAMP(3)),
    hasta = LEAST(hasta, UTC_TIMESTAMP(3))
  WHERE visto_en > UTC_TIMESTAMP(3) - INTERVAL 1 DAY
    AND (visto_en > UTC_TIMESTAMP(3) OR desde > UTC_TIMESTAMP(3)))sql";

constexpr std::string_view next_webhook_with_pending = R"sql(
  SELECT webhook_id, CAST(UTC_TIMESTAMP(3) AS CHAR) AS ahora
  FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id > ? ORDER BY webhook_id LIMIT 1)sql";
/// Reads the pending deliveries of a webhook in the order in which they fall due, in batches. The parameters
/// give the place where the last batch ended. A delivery with a shortened wait moves to before that place, so
/// no later batch reads it again.
constexpr std::string_view lock_some_waiting = R"sql(
  SELECT id, CAST(proximo_intento AS CHAR) AS vence, paso,
    COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), proximo_intento), 0) AS falta_us
  FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento >= ? AND (proximo_intento > ? OR id > ?)
  ORDER BY proximo_intento, id LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view shorten_waits_at_random = R"sql(
  /*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', bound BIGINT PATH '$[1]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.proximo_intento = UTC_TIMESTAMP(3) + INTERVAL FLOOR(RAND() * j.bound) MICROSECOND,
    e.no_antes = LEAST(e.no_antes, UTC_TIMESTAMP(3) + INTERVAL j.bound MICROSECOND))sql";

template <class... Values>
void note_unless_held(Session& session, std::string_view note, const Values&... values) {
  transaction(session, [&] {
    if (!session.query(lock_clock).empty()) session.update(note, values...);
  });
}

/// Returns how much the database's clock has gained on ours since the reading `first`. If there is no `first`
/// yet, or the operator has accepted the clock since, sets `first` from the present reading. It then returns
/// how long ago any dispatcher last noted the time, or zero if that is too short for a jump or there are no
/// notifications.
Milliseconds gained(Session& session, const Row& clock, std::optional<ClockSight>& first,
                    platform::MonotonicTime now) {
  const auto time = clock.time("ahora");
  const auto accepted = clock.integer("aceptados");
  if (first && first->accepted == accepted)
    return (time - first->time) - std::chrono::floor<Milliseconds>(now - first->at);
  // accept_clock() sets `hora`, so after an acceptance `unseen` is no longer than the time since then.
  const Milliseconds unseen(-clock.integer("atraso_ms"));
  const bool doubtful =
      unseen > (first ? longest_gain : longest_absence) && !session.query(any_notification).empty();
  const auto jumped = doubtful ? unseen : Milliseconds{};
  // If the clock has jumped already, `first` gets the time that the clock would show without the jump. With
  // the time that it does show, a second jump, after the clock was set right, would look like no gain.
  first = ClockSight{time - std::max(jumped, Milliseconds(clock.integer("salto_ms"))), now, accepted};
  return jumped;
}

bool concerns_one(Session& session, const DatabaseError& error) {
  return is_refused(error) || is_locked_place(session, error);
}

/// Calls `shorten`, in transactions, with ever smaller parts of `rows`, to find the rows that are refused or
/// locked; these keep their times.
template <class T, class Shorten>
std::uint64_t shorten_isolated(Session& session, const std::vector<T>& rows, Shorten&& shorten) {
  std::uint64_t changed = 0;
  isolate(
      rows, [&](const std::vector<T>& part) { changed += shorten(part); }, [](const auto&, const auto&) {},
      [&](const DatabaseError& error) { return concerns_one(session, error); });
  return changed;
}

/// Locks a batch of rows with times beyond `bounds` (by the statement `lock`), shortens these times (by the
/// statement `shorten`), and adds the number of changed rows to `count`. True: there may be more such rows.
template <class... Bounds>
bool shorten_batch(Session& session, std::string_view lock, std::string_view shorten, std::uint64_t& count,
                   Bounds... bounds) {
  std::vector<std::int64_t> ids;
  const auto shorten_some = [&](const std::vector<std::int64_t>& some) {
    return session.update(shorten, json_ids(some), microseconds(bounds)...);
  };
  std::uint64_t changed = 0;
  try {
    changed = transaction(session, [&] {
      ids.clear();
      for (const auto& row : session.query(lock, microseconds(bounds)..., batch_rows))
        ids.push_back(row.integer("id"));
      return shorten_some(ids);
    });
  } catch (const DatabaseError& error) {
    if (!concerns_one(session, error)) throw;
    changed = shorten_isolated(session, ids, shorten_some);
  }
  count += changed;
  return changed > 0 && ids.size() == batch_rows;
}

/// Moves to the next webhook with pending deliveries. Without one the stage is `done`.
void next_webhook(Session& session, ClockMending& mending) {
  const auto rows = session.query(next_webhook_with_pending, mending.webhook);
  if (rows.empty()) {
    mending.stage = Stage::done;
    return;
  }
  mending.webhook = rows.front().integer("webhook_id");
  mending.due = rows.front().time("ahora");
  mending.delivery = 0;
}

std::uint64_t shorten_waits(Session& session, const platform::DeliverySettings& settings,
                            const Rows& waiting) {
  json::Array late;
  for (const auto& row : waiting) {
    const auto bound = microseconds(longest_wait(settings, static_cast<unsigned>(row.integer("paso"))));
    if (row.integer("falta_us") > bound) late.emplace_back(json::Array{row.integer("id"), bound});
  }
  if (late.empty()) return 0;
  return session.update(shorten_waits_at_random, json::dump(late));
}

void mend_deliveries(Session& session, const platform::DeliverySettings& settings, ClockMending& mending) {
  Rows waiting;
  try {
    mending.rescheduled += transaction(session, [&] {
      waiting = session.query(lock_some_waiting, mending.webhook, mending.due, mending.due, mending.delivery,
                              batch_rows);
      return shorten_waits(session, settings, waiting);
    });
  } catch (const DatabaseError& error) {
    if (!concerns_one(session, error)) throw;
    mending.rescheduled += shorten_isolated(
        session, waiting, [&](const Rows& some) { return shorten_waits(session, settings, some); });
  }
  if (waiting.size() < batch_rows) return next_webhook(session, mending);
  mending.delivery = waiting.back().integer("id");
  mending.due = waiting.back().time("vence");
}

}  // namespace

ClockLook watch_clock(Session& session, std::optional<ClockSight>& first, platform::MonotonicTime now) {
  const auto rows = session.query(read_clock);
  const auto& clock = rows.at(0);
  const Milliseconds behind(clock.integer("atraso_ms"));
  const Milliseconds known(clock.integer("salto_ms"));
  if (behind > clock_tolerance) return {behind, known};
  const auto gain = gained(session, clock, first, now);
  if (gain > longest_gain && gain > known + clock_tolerance) {
    note_unless_held(session, note_jump, std::int64_t{gain.count()});
    return {{}, gain};
  }
  if (behind < -note_interval) note_unless_held(session, note_clock_if_later);
  return {{}, known};
}

Milliseconds since_last_note(Session& session) {
  return Milliseconds(std::max<std::int64_t>(0, -session.query(read_clock).at(0).integer("atraso_ms")));
}

Milliseconds accept_clock(Session& session) {
  return transaction(session, [&] {
    const Milliseconds jumped(session.query(read_clock).at(0).integer("salto_ms"));
    session.update(jump_accepted);
    return jumped;
  });
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
      if (!shorten_batch(session, lock_long_leases, shorten_leases_to, mending.leases, settings.lease))
        mending.stage = Stage::rests;
      return;
    }
    case Stage::rests: {
      if (!shorten_batch(session, lock_long_rests, shorten_rests_to, mending.rests,
                         settings.retry_schedule.front(), settings.probe_interval)) {
        session.update(end_outages_by_now);
        mending.stage = Stage::deliveries;
      }
      return;
    }
    case Stage::deliveries:
      if (mending.webhook == 0)
        next_webhook(session, mending);
      else
        mend_deliveries(session, settings, mending);
      if (mending.stage == Stage::done)
        note_unless_held(session, note_clock, std::int64_t{longest_gain.count()});
      return;
    case Stage::done:
      return;
  }
}

}  // namespace store
