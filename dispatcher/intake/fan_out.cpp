#include "dispatcher/intake/fan_out.hpp"

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
constexpr unsigned rows_per_turn = 8;        // of each entity, at least, if it has them and there is room
constexpr unsigned entities_ahead = 16;
constexpr unsigned rows_ahead = 16;           // of each entity
constexpr unsigned entities_with_large = 16;  // one row each: together about bytes_per_batch
constexpr unsigned rows_of_suspect = 8;       // of one entity: each row may cost two transactions
constexpr unsigned rows_past_locks = 64;

}  // namespace

FanOut::FanOut(store::Session& session, QueueScanner& scanner, FairSlots& slots,
               const platform::DeliverySettings& settings, const platform::Log& log, const Metrics& metrics,
               NewerRows& newer)
    : session_(session),
      scanner_(scanner),
      slots_(slots),
      most_of_entity_(webhook::max_webhooks_per_entity * settings.max_in_flight_per_webhook),
      reader_(session, locked_, newer),
      writer_(session, scanner, slots, locked_, settings.lease, log, metrics) {}

void FanOut::run(LeasedBatch& into) {
  const unsigned rows = std::min(slots_.free(), rows_per_batch);
  if (rows == 0) return;
  auto& entities = scanner_.entities();
  const auto now = monotonic_now();
  const auto in_turns = static_cast<unsigned>(entities.count(Pick::ready, now));
  const bool nothing_else = in_turns == 0 && entities.line(1).empty();
  if (entities.count(Pick::large, now) > 0 && (nothing_else || large_pacer_.due(now))) {
    auto requests = entities.next(std::min(rows, entities_with_large), Pick::large, 1, now);
    run(reader_.read({}, Pick::large, std::move(requests)), Ahead::no, into);
    return large_pacer_.ran(now, monotonic_now(), 0ms, 1s);
  }
  first_ = first_ == First::turns ? First::line : First::turns;
  const auto line = entities.line(in_turns == 0 ? rows : (rows + (first_ == First::turns ? 0 : 1)) / 2);
  const unsigned rest = rows - static_cast<unsigned>(line.size());
  std::vector<store::TakeRequest> requests;
  if (rest > 0 && in_turns > 0) {
    const auto most = std::min(in_turns, std::clamp(rest / rows_per_turn, 1U, entities_per_batch));
    const auto each = std::clamp(rest / most, 1U, most_of_entity_);
    requests = entities.next(most, Pick::ready, each, now);
  }
  if (line.empty() && requests.empty()) return;
  run(reader_.read(line, Pick::ready, std::move(requests), first_), Ahead::no, into);
}

void FanOut::run(FanOutBatch batch, Ahead ahead, LeasedBatch& into) {
  writer_.write(batch, ahead, into);
  batch.note(scanner_.entities());
}

void FanOut::run_ahead(LeasedBatch& into) {
  // One batch at a time: a second one would set `into.leased_at` after the leases of the first began.
  // Suspects go first: they rarely use up their share of the time, and busy entities may never run out.
  if (!run_ahead(suspect_pacer_, Pick::suspect, 1, rows_of_suspect, into))
    run_ahead(busy_pacer_, Pick::busy, entities_ahead, rows_ahead, into);
}

/// Runs one batch of entities of a kind. False: the pacer does not allow it yet, or there are none.
bool FanOut::run_ahead(Pacer& pacer, Pick pick, unsigned entities, unsigned rows, LeasedBatch& into) {
  const auto start = monotonic_now();
  if (!pacer.due(start)) return false;
  auto requests = scanner_.entities().next(entities, pick, rows, start);
  if (requests.empty()) return false;
  run(reader_.read({}, pick, std::move(requests)), Ahead::yes, into);
  pacer.ran(start, monotonic_now(), 0ms, 1s);
  return true;
}

void FanOut::run_locked(LeasedBatch& into) {
  mark_fanned_out();
  const auto locked = locked_.take_locked(monotonic_now(), rows_past_locks);
  // One batch at a time, as in run_ahead().
  if (locked.empty()) return retry_locked(into);
  auto batch = reader_.read(locked, Pick::ready, {});
  std::erase_if(batch.judged, [&](const auto& one) { return scanner_.entities().suspected(one.entity); });
  writer_.write_past_locks(batch.judged, into);
}

/// Tries locked notifications once more. Does not call note() of the batch: what happens to these few says
/// nothing about the other notifications of their entities.
void FanOut::retry_locked(LeasedBatch& into) {
  const auto retries = locked_.take_retries(monotonic_now(), rows_past_locks);
  if (retries.empty()) return;
  auto batch = reader_.read(retries, Pick::ready, {});
  try {
    writer_.write(batch, Ahead::yes, into);
  } catch (...) {
    locked_.end_retries();
    throw;
  }
  locked_.end_retries();
  for (const auto entity : batch.put_off) scanner_.entities().suspect(entity);
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
      [](auto, const auto&) {});  // refused: the list of fanned-out notifications still has it
}

}  // namespace dispatcher
