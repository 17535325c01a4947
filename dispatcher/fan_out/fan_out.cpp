#include "dispatcher/fan_out/fan_out.hpp"

#include <algorithm>
#include <utility>

#include "lib/store/session/isolate.hpp"
#include "lib/webhook/limits.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr unsigned rows_per_batch = 256;
constexpr unsigned entities_per_batch = 64;  // entities that take turns; each costs a seek in the index
constexpr unsigned rows_per_turn = 8;  // one entity takes a turn for every 8 rows of room; at least one does
constexpr unsigned entities_ahead = 16;       // busy entities in one batch of run_ahead()
constexpr unsigned rows_ahead = 16;           // of each of these entities
constexpr unsigned entities_with_large = 16;  // one row each; 16 of the largest fill a batch
constexpr unsigned rows_of_suspect = 8;       // of one entity: each row may cost two transactions
constexpr unsigned rows_past_locks = 64;

enum class Source { scanner, retries, locked };  // of the rows of a batch

/// Notes in `locked` which of `rows` met a lock, so that they are tried again, and which have deliveries but
/// are still to be marked `procesada`. Rows for which the batch had no room are to be tried again, too; those
/// from the scanner need no note, because ReadyEntities knows them.
void note_locks(const std::vector<store::NotificationKey>& rows, const Outcomes& outcomes, Source source,
                LockedNotifications& locked) {
  const auto now = monotonic_now();
  for (const auto& row : rows) {
    const auto found = outcomes.find(row.id);
    if (found == outcomes.end()) continue;
    const auto outcome = found->second;
    if (outcome == Outcome::unmarked) locked.fanned_out(row.id, now);
    if (outcome == Outcome::row_locked || outcome == Outcome::write_locked)
      source == Source::retries ? locked.found_again(row, now) : locked.found(row, now);
    if (outcome == Outcome::no_room && source != Source::scanner) locked.found(row, now);
  }
}

}  // namespace

FanOut::FanOut(store::Session& session, QueueScanner& scanner, FairSlots& slots,
               const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics,
               NewerRows& newer)
    : session_(session),
      scanner_(scanner),
      slots_(slots),
      newer_(newer),
      most_of_entity_(webhook::max_webhooks_per_entity * settings.max_in_flight_per_webhook),
      writer_(session, scanner, slots, settings.lease, log, metrics) {}

void FanOut::run_sendable(LeasedBatch& into) {
  const unsigned rows = std::min(slots_.free(), rows_per_batch);
  if (rows == 0) return;
  auto& entities = scanner_.entities();
  const auto now = monotonic_now();
  const bool nothing_else = entities.count(Kind::ready, now) == 0 && entities.line(1).empty();
  if ((nothing_else || large_pacer_.due(now)) &&
      run_kind(Kind::large, std::min(rows, entities_with_large), 1, Ahead::no, large_pacer_, into))
    return;
  fan_out(select_line_and_turns(rows, now), Ahead::no, into);
}

/// Runs one batch of entities of a kind, with at most `rows` notifications of each. False: there is no such
/// entity.
bool FanOut::run_kind(Kind kind, unsigned entities, unsigned rows, Ahead ahead, Pacer& pacer,
                      LeasedBatch& into) {
  const auto start = monotonic_now();
  auto requests = scanner_.entities().next(entities, kind, rows, start);
  if (requests.empty()) return false;
  auto found = store::find_oldest_pending(session_, requests);
  fan_out({std::move(found), kind, std::move(requests)}, ahead, into);
  pacer.ran(start, monotonic_now(), 0ms, 1s);
  return true;
}

/// Shares `rows` between the line (notifications in the order of their ids) and the turns (entities served
/// round robin); ReadyEntities says which are in which. If the slots are not enough for all, the group that
/// comes first has an advantage, so each comes first in every second batch.
Selection FanOut::select_line_and_turns(unsigned rows, platform::MonotonicTime now) {
  auto& entities = scanner_.entities();
  const auto in_turns = static_cast<unsigned>(entities.count(Kind::ready, now));
  turns_first_ = !turns_first_;
  auto line = entities.line(in_turns == 0 ? rows : (rows + (turns_first_ ? 0 : 1)) / 2);
  Selection selection{.rows = {}, .kind = Kind::ready, .requests = {}};
  const unsigned rest = rows - static_cast<unsigned>(line.size());
  if (rest > 0 && in_turns > 0) {
    const auto most = std::min(in_turns, std::clamp(rest / rows_per_turn, 1U, entities_per_batch));
    const auto each = std::clamp(rest / most, 1U, most_of_entity_);
    selection.requests = entities.next(most, Kind::ready, each, now);
  }
  selection.rows = store::find_oldest_pending(session_, selection.requests);
  selection.rows.insert(turns_first_ ? selection.rows.end() : selection.rows.begin(), line.begin(),
                        line.end());
  return selection;
}

void FanOut::fan_out(const Selection& selection, Ahead ahead, LeasedBatch& into) {
  if (selection.rows.empty() && selection.requests.empty()) return;
  const auto batch = read_batch(session_, selection.rows, newer_);
  const auto outcomes = write(batch, ahead, into);
  note_locks(selection.rows, outcomes, Source::scanner, locked_);
  report_batch(selection, outcomes, batch.with_large, monotonic_now(), scanner_.entities());
}

/// Returns the outcomes of all rows of the batch.
Outcomes FanOut::write(const FanOutBatch& batch, Ahead ahead, LeasedBatch& into) {
  auto outcomes = writer_.write(batch.judged, ahead, into);
  outcomes.insert(batch.left_out.begin(), batch.left_out.end());
  const bool any = std::ranges::any_of(outcomes, [](const auto& one) { return !waits(one.second); });
  into.worked = into.worked || any;
  return outcomes;
}

void FanOut::run_ahead(LeasedBatch& into) {
  // One batch at a time: a second batch would set `into.leased_at` to a moment after the first batch's leases
  // began, and these would seem to end later than they do.
  // Suspect entities (the database refused, or may refuse, one of their notifications) go before busy ones:
  // they rarely use up their share of the time, and there may always be busy entities.
  const auto run = [&](Kind kind, unsigned entities, unsigned rows, Pacer& pacer) {
    return pacer.due(monotonic_now()) && run_kind(kind, entities, rows, Ahead::yes, pacer, into);
  };
  if (!run(Kind::suspect, 1, rows_of_suspect, suspect_pacer_))
    run(Kind::busy, entities_ahead, rows_ahead, busy_pacer_);
}

void FanOut::run_locked(LeasedBatch& into) {
  mark_fanned_out();
  const auto rows = locked_.take_locked(monotonic_now(), rows_past_locks);
  // One batch at a time, as in run_ahead().
  if (rows.empty()) return retry_locked(into);
  auto batch = read_batch(session_, rows, newer_);
  std::erase_if(batch.judged, [&](const auto& one) { return scanner_.entities().suspected(one.entity); });
  auto outcomes = writer_.write_past_locks(batch.judged, into);
  outcomes.insert(batch.left_out.begin(), batch.left_out.end());
  note_locks(rows, outcomes, Source::locked, locked_);
}

/// Tries locked notifications once more. Tells ReadyEntities of an entity only if the database refused one of
/// its notifications, or if one was put off because the search for a refused one took too long. The other
/// outcomes say nothing about the rest of an entity's notifications.
void FanOut::retry_locked(LeasedBatch& into) {
  const auto rows = locked_.take_retries(monotonic_now(), rows_past_locks);
  if (rows.empty()) return;
  const auto outcomes = write(read_batch(session_, rows, newer_), Ahead::yes, into);
  note_locks(rows, outcomes, Source::retries, locked_);
  for (const auto& [entity, facts] : facts_by_entity(rows, outcomes)) {
    if (facts.has(Outcome::refused)) scanner_.entities().note_refused(entity);
    if (facts.suspect()) scanner_.entities().suspect(entity);
  }
}

void FanOut::mark_fanned_out() {
  const auto now = monotonic_now();
  const auto ids = locked_.take_unfinished(now, rows_per_batch);
  if (ids.empty()) return;
  store::isolate(
      ids,
      [&](const std::vector<delivery::NotificationId>& part) {
        for (const auto id : store::finish_fan_out_past_locks(session_, part)) locked_.fanned_out(id, now);
      },
      [](auto, const auto&) {});  // a refused notification stays in notificaciones_apartadas
}

}  // namespace dispatcher
