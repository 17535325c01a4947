#include "lib/store/maintenance/clock_watch.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/locked_deliveries.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

using platform::Milliseconds;

/// A dispatcher notes the database's time when the last note, of any dispatcher, is older than this.
constexpr Milliseconds note_interval{10000};
/// A jump by no more than this need not be accepted: waits that are longer by an hour do no harm.
constexpr Milliseconds least_jump{std::chrono::hours(1)};
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
/// Notes the time after a jump back. The jump stays on record until it is accepted.
constexpr std::string_view note_jump_back = R"sql(
  UPDATE reloj_visto SET salto_ms = IF(?, ?, salto_ms), hora = UTC_TIMESTAMP(3) WHERE id = 1)sql";
constexpr std::string_view note_jump = R"sql(
  UPDATE reloj_visto SET salto_ms = GREATEST(salto_ms, ?), hora = UTC_TIMESTAMP(3) WHERE id = 1)sql";
/// Keeps a time that is still to come: the dispatchers have then not yet seen that the clock went back.
constexpr std::string_view jump_accepted = R"sql(
  UPDATE reloj_visto SET salto_ms = 0, aceptados = LEAST(aceptados + 1, 4294967295),
    hora = GREATEST(hora, UTC_TIMESTAMP(3))
  WHERE id = 1)sql";

constexpr std::string_view lock_long_leases = R"sql(
  SELECT id FROM entregas WHERE arriendo_hasta > UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
  ORDER BY arriendo_hasta LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view lease_ends_after = "e.arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND";
constexpr std::string_view shorten_leases_to = joined<change_locked_deliveries, lease_ends_after>;

constexpr std::string_view end_rests = R"sql(
  UPDATE webhook_ejecuciones
  SET descansa_hasta = LEAST(descansa_hasta, UTC_TIMESTAMP(3)), adelantar_en = LEAST(adelantar_en, UTC_TIMESTAMP(3)),
    fallos_desde = LEAST(fallos_desde, UTC_TIMESTAMP(3)), fallos_ultimo = LEAST(fallos_ultimo, UTC_TIMESTAMP(3))
  WHERE descansa_hasta > UTC_TIMESTAMP(3) OR adelantar_en > UTC_TIMESTAMP(3)
    OR fallos_desde > UTC_TIMESTAMP(3) OR fallos_ultimo > UTC_TIMESTAMP(3))sql";
/// Outages do not count towards the deactivation of a webhook. All time until an end that lies in the future
/// would count as outage, and the time since a start that lies in the future would not. (The dispatcher that
/// has the outage sets `visto_en` every 10 s, but never `desde`.)
constexpr std::string_view end_outages_by_now = R"sql(
  UPDATE cortes_envio FORCE INDEX (cortes_por_visto)
  SET desde = LEAST(desde, UTC_TIMESTAMP(3)), visto_en = LEAST(visto_en, UTC_TIMESTAMP(3)),
    hasta = LEAST(hasta, UTC_TIMESTAMP(3))
  WHERE visto_en > UTC_TIMESTAMP(3) - INTERVAL 1 DAY
    AND (visto_en > UTC_TIMESTAMP(3) OR desde > UTC_TIMESTAMP(3)))sql";
constexpr std::string_view next_webhook_with_pending = R"sql(
  SELECT webhook_id FROM entregas FORCE INDEX (entregas_por_reclamar)
  WHERE espera = 'pendiente' AND webhook_id > ? ORDER BY webhook_id LIMIT 1)sql";
constexpr std::string_view make_some_due = R"sql(
  UPDATE entregas FORCE INDEX (entregas_por_reclamar)
  SET proximo_intento = UTC_TIMESTAMP(3), prevista = NULL, no_antes = NULL
  WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento > UTC_TIMESTAMP(3) LIMIT ?)sql";

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
      unseen > (first ? least_jump : longest_absence) && !session.query(any_notification).empty();
  const auto jumped = doubtful ? unseen : Milliseconds{};
  // If the clock has jumped already, `first` gets the time that the clock would show without the jump. With
  // the time that it does show, a second jump, after the clock was set right, would look like no gain.
  first = ClockSight{time - std::max(jumped, Milliseconds(clock.integer("salto_ms"))), now, accepted};
  return jumped;
}

/// Cuts a batch of leases that are longer than `lease`. Returns how many it has cut. A lease that the
/// database refuses to change keeps its end.
std::uint64_t cut_some_leases(Session& session, Milliseconds lease) {
  return transaction(session, [&] {
    const auto ids = ids_in<DeliveryId>(session.query(lock_long_leases, microseconds(lease), batch_rows));
    std::string refusal;
    return change_accepted(ids, "delivery", refusal, [&](const auto& some) {
      return session.update(shorten_leases_to, json_ids(some), microseconds(lease));
    });
  });
}

std::uint64_t make_all_due(Session& session) {
  std::uint64_t made_due = 0;
  WebhookId last = 0;
  for (auto rows = session.query(next_webhook_with_pending, last); !rows.empty();
       rows = session.query(next_webhook_with_pending, last)) {
    last = rows.front().integer("webhook_id");
    made_due += in_batches(session, [&] { return session.update(make_some_due, last, batch_rows); });
  }
  return made_due;
}

}  // namespace

ClockLook watch_clock(Session& session, std::optional<ClockSight>& first, platform::MonotonicTime now,
                      Milliseconds lease) {
  const auto rows = session.query(read_clock);
  const auto& clock = rows.at(0);
  const Milliseconds behind(clock.integer("atraso_ms"));
  const Milliseconds known(clock.integer("salto_ms"));
  if (behind > clock_tolerance) {
    while (cut_some_leases(session, lease) > 0) {  // fewer than a batch if some are refused
    }
    const bool jumped = behind > least_jump;
    note_unless_held(session, note_jump_back, jumped, -std::int64_t{behind.count()});
    return {behind, jumped ? -behind : known};
  }
  const auto gain = gained(session, clock, first, now);
  if (known.count() >= 0 && gain > least_jump && gain > known + clock_tolerance) {
    note_unless_held(session, note_jump, std::int64_t{gain.count()});
    return {{}, gain};
  }
  if (behind < -note_interval) note_unless_held(session, note_clock_if_later);
  return {{}, known};
}

Milliseconds since_last_note(Session& session) {
  return Milliseconds(std::max<std::int64_t>(0, -session.query(read_clock).at(0).integer("atraso_ms")));
}

AcceptedClock accept_clock(Session& session) {
  AcceptedClock accepted{Milliseconds(session.query(read_clock).at(0).integer("salto_ms"))};
  if (accepted.jumped.count() < 0) {
    session.update(end_rests);
    session.update(end_outages_by_now);
    accepted.made_due = make_all_due(session);
  }
  session.update(jump_accepted);
  return accepted;
}

}  // namespace store
