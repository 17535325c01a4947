#include "dispatcher/fan_out/fan_out.hpp"

#include <algorithm>
#include <utility>

#include "lib/store/session/open_transactions.hpp"
#include "lib/webhook/limits.hpp"

namespace dispatcher {

namespace {

using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr unsigned rows_per_batch = 256;
constexpr unsigned rows_with_turns = 128;    // the line waits for the commit of what takes turns
constexpr unsigned entities_per_batch = 64;  // entities that take turns; each costs a seek in the index
constexpr unsigned rows_per_turn = 8;  // one entity takes a turn for every 8 rows of room; at least one does
constexpr unsigned entities_ahead = 16;  // busy entities in one batch of run_ahead(), which share its rows
constexpr unsigned entities_with_large = 16;  // one row each; 16 of the largest fill a batch
constexpr unsigned rows_of_suspect = 8;       // of one entity: each row may cost two transactions
constexpr unsigned rows_of_wrong = 512;       // of all entities; they need no slot
constexpr unsigned rows_again = 256;
constexpr auto long_locked = 1min;  // then the operator is told

/// Returns the rows that are not in the list of those passed over, which are tried again apart.
std::vector<store::NotificationKey> without(const PassedOver& passed_over,
                                            std::vector<store::NotificationKey> rows) {
  std::erase_if(rows, [&](const auto& row) { return passed_over.contains(row.id); });
  return rows;
}

}  // namespace

FanOut::FanOut(store::Session& session, ReadySet& ready, FairSlots& slots,
               const config::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics)
    : session_(session),
      ready_(ready),
      slots_(slots),
      most_of_entity_(webhook::max_webhooks_per_entity * settings.max_in_flight_per_webhook),
      log_(log),
      metrics_(metrics),
      writer_(session, ready, slots, passed_over_, settings.lease, log, metrics) {}

void FanOut::run_sendable(LeasedBatch& into) {
  const unsigned rows = std::min(slots_.counts().free(), rows_per_batch);
  if (rows > 0) fan_out(select_line_and_turns(rows, monotonic_now()), Ahead::no, into);
}

void FanOut::run_large(LeasedBatch& into) {
  const unsigned most = std::min(slots_.counts().free(), entities_with_large);
  auto& entities = ready_.entities;
  const auto now = monotonic_now();
  const bool nothing_else = entities.count(Kind::ready, now) == 0 && entities.line(1).empty();
  if (most > 0 && (nothing_else || large_pacer_.due(now)))
    run_kind(Kind::large, most, 1, Ahead::no, large_pacer_, into);
}

void FanOut::run_wrong(LeasedBatch& into) {
  auto& entities = ready_.entities;
  const auto now = monotonic_now();
  const auto most =
      static_cast<unsigned>(std::min<std::size_t>(rows_of_wrong, entities.count(Kind::wrong, now)));
  if (most == 0) return;
  // One row more than the share of each: an entity with fewer is known to have no more, without another turn.
  auto requests = entities.next(most, Kind::wrong, rows_of_wrong / most + 1, now);
  auto found = store::find_oldest_pending(session_, requests);
  fan_out({std::move(found), Kind::wrong, std::move(requests)}, Ahead::no, into);
}

/// Runs one batch of entities of a kind, if there are any, with at most `rows` notifications of each.
void FanOut::run_kind(Kind kind, unsigned entities, unsigned rows, Ahead ahead, Pacer& pacer,
                      LeasedBatch& into) {
  const auto start = monotonic_now();
  auto requests = ready_.entities.next(entities, kind, rows, start);
  if (ahead == Ahead::no) requests = with_slot(std::move(requests));
  if (requests.empty()) return;
  auto found = store::find_oldest_pending(session_, requests);
  fan_out({std::move(found), kind, std::move(requests)}, ahead, into);
  pacer.ran(start, monotonic_now(), 0ms, 1s);
}

/// Shares `rows` between the line (notifications in the order of their ids) and the turns (entities served
/// round robin); ReadyEntities says which are in which. If the slots are not enough for all, the group that
/// comes first has an advantage, so each comes first in every second batch; likewise in the line. Entities
/// that may use none of the free slots are not read.
Selection FanOut::select_line_and_turns(unsigned rows, platform::MonotonicTime now) {
  auto& entities = ready_.entities;
  const auto in_turns = static_cast<unsigned>(entities.count(Kind::ready, now));
  if (in_turns > 0) rows = std::min(rows, rows_with_turns);
  ++batch_;
  const bool turns_first = batch_ % 2 != 0;
  auto line = entities.line(in_turns == 0 ? rows : (rows + (turns_first ? 0 : 1)) / 2, batch_ / 2 % 2 != 0,
                            slots_.counts().free_for(true), slots_.counts().free_for(false));
  Selection selection{.rows = {}, .kind = Kind::ready, .requests = {}};
  const unsigned rest = rows - static_cast<unsigned>(line.size());
  if (rest > 0 && in_turns > 0) {
    const auto most = std::min(in_turns, std::clamp(rest / rows_per_turn, 1U, entities_per_batch));
    const auto each = std::clamp(rest / most, 1U, most_of_entity_);
    selection.requests = with_slot(entities.next(most, Kind::ready, each, now));
  }
  selection.rows = store::find_oldest_pending(session_, selection.requests);
  selection.rows.insert(turns_first ? selection.rows.end() : selection.rows.begin(), line.begin(),
                        line.end());
  return selection;
}

/// Returns the requests of entities for which a slot is free.
std::vector<store::TakeRequest> FanOut::with_slot(std::vector<store::TakeRequest> requests) const {
  std::erase_if(requests, [this](const auto& one) { return slots_.full_for(one.entity); });
  return requests;
}

void FanOut::fan_out(const Selection& selection, Ahead ahead, LeasedBatch& into) {
  if (selection.rows.empty() && selection.requests.empty()) return;
  const auto tried = without(passed_over_, selection.rows);
  auto [outcomes, with_large] = write(tried, ahead, into);
  for (const auto& row : selection.rows) outcomes.try_emplace(row.id, Outcome::for_newer);
  into.worked = into.worked || tried.size() < selection.rows.size();
  report_batch(selection, outcomes, with_large, monotonic_now(), ready_.entities);
}

FanOutWriter::Written FanOut::write(const std::vector<store::NotificationKey>& rows, Ahead ahead,
                                    LeasedBatch& into) {
  auto written = writer_.write(rows, ahead, into);
  const bool any = std::ranges::any_of(written.outcomes, [](const auto& one) { return !waits(one.second); });
  into.worked = into.worked || any;
  const auto now = monotonic_now();
  for (const auto& row : rows) {
    const auto outcome = written.outcomes.at(row.id);
    passed_over_.note(row, outcome, now);
    if (outcome == Outcome::for_newer) for_newer_.add(1);
  }
  return written;
}

void FanOut::run_suspect(LeasedBatch& into) {
  if (suspect_pacer_.due(monotonic_now()))
    run_kind(Kind::suspect, 1, rows_of_suspect, Ahead::yes, suspect_pacer_, into);
}

void FanOut::run_ahead(LeasedBatch& into) {
  const auto now = monotonic_now();
  if (!busy_pacer_.due(now)) return;
  const auto entities = static_cast<unsigned>(
      std::clamp<std::size_t>(ready_.entities.count(Kind::busy, now), 1, entities_ahead));
  run_kind(Kind::busy, entities, rows_per_batch / entities, Ahead::yes, busy_pacer_, into);
}

void FanOut::run_passed_over(LeasedBatch& into) {
  const auto start = monotonic_now();
  report_locked(start);
  const auto rows = passed_over_.due(start, again_pacer_.due(start) ? rows_again : 0);
  if (!rows.empty()) {
    write(rows, Ahead::yes, into);
    again_pacer_.ran(start, monotonic_now(), 0ms, 5s);  // MySQL waits a second for a lock
  }
}

void FanOut::forget_locks() {
  passed_over_.forget_locks();
  metrics_.locked.set(0);
}

std::optional<platform::MonotonicTime> FanOut::next_passed_over() const {
  const auto due = passed_over_.next_due();
  return due ? std::optional(std::max(*due, again_pacer_.next())) : std::nullopt;
}

void FanOut::report(bool stopping) {
  writer_.rejections().report(stopping);
  if (const auto tries = for_newer_.take_if_due(monotonic_now(), stopping))
    log_.info(
        "notifications left to a newer version of the dispatcher: this one does not know their event (or may "
        "not read the table migraciones: sql/grants)",
        {{"tries", *tries}});
}

/// Tells the operator of notifications that have been locked for long, and where this user may see it, which
/// sessions may hold the locks.
void FanOut::report_locked(platform::MonotonicTime now) {
  if (now < next_count_) return;
  next_count_ = now + 1s;
  const auto locked = passed_over_.locked_for(long_locked, now);
  metrics_.locked.set(static_cast<double>(locked.count));
  if (locked.count == 0 || now < next_report_) return;
  next_report_ = now + 1min;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(locked.since);
  log_.warning("notifications wait for a lock of another session",
               {{"notifications", locked.count},
                {"longest", locked.first.id},
                {"entity", locked.first.entity},
                {"seconds", seconds.count()},
                {"open_transactions", store::describe_lock_holders(session_, seconds)}});
}

}  // namespace dispatcher
