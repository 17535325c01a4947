#include "dispatcher/results/result_writer.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace dispatcher {

namespace {

using platform::Milliseconds;

constexpr Milliseconds away_wait{500};  // between tries while the database is away
constexpr Milliseconds retry_wait{50};  // while something waits that could not be written
constexpr Milliseconds idle_wait{1000};
constexpr Milliseconds between_batches{12};
constexpr std::size_t enough = 250;        // results, not to wait for more
constexpr Milliseconds trusted_for{1000};  // a connection that has been used

}  // namespace

ResultWriter::ResultWriter(const platform::DeliverySettings& settings, store::Session session,
                           Milliseconds between_looks, const platform::Log& log, const Metrics& metrics)
    : between_looks_(between_looks),
      log_(log.with_own_lock()),
      session_(std::move(session)),
      buffer_(settings, log_, metrics, heartbeat_),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ResultWriter::~ResultWriter() {
  thread_.request_stop();
  items_.wake();
}

void ResultWriter::add(std::vector<delivery::Attempt> attempts) {
  submit({std::make_move_iterator(attempts.begin()), std::make_move_iterator(attempts.end())});
}

void ResultWriter::hold(std::vector<delivery::HeldDelivery> deliveries) {
  submit({std::make_move_iterator(deliveries.begin()), std::make_move_iterator(deliveries.end())});
}

void ResultWriter::submit(std::vector<Item> items) {
  submitted_ += items.size();
  items_.put(std::move(items));
}

// What is taken is counted as unrecorded before it is no longer counted as submitted: whoever reads in
// between counts it twice, and never not at all.
std::size_t ResultWriter::waiting() const {
  const std::size_t submitted = submitted_;
  return submitted + unrecorded_;
}

std::size_t ResultWriter::backlog() const {
  const std::size_t aside = quarantined_;
  const auto all = waiting();
  return all - std::min(all, aside);
}

void ResultWriter::run(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      heartbeat_.beat();
      const auto start = platform::monotonic_now();
      take();
      const bool got_on = record();
      publish();
      if (stop.stop_requested()) break;
      if (got_on) {
        gather(start);
        continue;
      }
      wait(away_ || failed_ ? away_wait : buffer_.waiting() > 0 ? retry_wait : idle_wait, !away_ && !failed_);
    }
  } catch (const std::exception& error) {  // no memory: the program ends, and says why
    log_.error("result writer failed; the program ends", {{"error", error.what()}});
    throw;
  }
}

/// A batch of ten costs the database nearly what one of a hundred does: those that end within a moment are
/// written together.
void ResultWriter::gather(platform::MonotonicTime last_start) const {
  if (waiting() >= enough) return;
  const auto left = std::chrono::ceil<Milliseconds>(last_start + between_batches - platform::monotonic_now());
  if (left.count() > 0) wait(left, false);
}

void ResultWriter::take() {
  const auto items = items_.take();
  for (const auto& item : items) {
    if (const auto* attempt = std::get_if<delivery::Attempt>(&item))
      buffer_.add(*attempt);
    else
      buffer_.hold(std::get<delivery::HeldDelivery>(item));
  }
  unrecorded_ = buffer_.waiting();
  submitted_ -= items.size();
}

/// True when it got on, and there may be more to do at once. Whatever goes wrong, the results stay and are
/// tried again.
bool ResultWriter::record() {
  failed_ = false;
  try {
    look_alive();
    const bool got_on = buffer_.record(session_);
    if (got_on) used_ = platform::monotonic_now();
    // After an absence only once all is written: leases are not recovered, meanwhile, under what comes next.
    const bool caught_up = !got_on || buffer_.waiting() == buffer_.quarantined();
    if (away_ && caught_up) {
      away_ = false;
      log_.info("results are recorded again");
    }
    return got_on;
  } catch (const store::Unavailable& error) {
    if (!away_.exchange(true))
      log_.warning("results cannot be recorded: database unavailable; retrying",
                   {{"waiting", buffer_.waiting()}, {"error", error.what()}});
  } catch (const store::Conflict& error) {
    log_.info("transaction conflict; retrying", {{"duty", "record"}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log_.error("results cannot be recorded; retrying", {{"duty", "record"}, {"error", error.what()}});
    session_.disconnect();  // whatever state it is in
    failed_ = true;
  }
  return false;
}

/// A connection that was closed for being idle is made again without a word, before a result needs it; a
/// node that is gone is left.
void ResultWriter::look_alive() {
  const auto now = platform::monotonic_now();
  if (!away_ && now - used_ < (buffer_.waiting() > 0 ? trusted_for : between_looks_)) return;
  // Of a table: without one, a Galera node that is cut off answers as if somebody held a lock (1205).
  constexpr auto* alive = "SELECT id FROM control_envio WHERE id = 1";
  try {
    session_.query(alive);
  } catch (const store::Unavailable&) {
    session_.query(alive);
  }
  used_ = now;
}

void ResultWriter::publish() {
  refused_ = buffer_.refused();
  failed_now_ = failed_;
  quarantined_ = buffer_.quarantined();
  unrecorded_ = buffer_.waiting();
  done_.put(buffer_.take_done());
}

void ResultWriter::wait(Milliseconds longest, bool for_more) const {
  pollfd more{for_more ? items_.fd() : -1, POLLIN, 0};
  ::poll(&more, 1, static_cast<int>(longest.count()));
}

}  // namespace dispatcher
