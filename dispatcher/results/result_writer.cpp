#include "dispatcher/results/result_writer.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace dispatcher {

namespace {

using platform::Milliseconds;

constexpr Milliseconds away_wait{500};  // between tries while the database is away, or after an error
constexpr Milliseconds retry_wait{50};  // between tries while results are left
constexpr Milliseconds idle_wait{1000};
constexpr Milliseconds between_batches{12};
constexpr Milliseconds longest_rest{50};
constexpr std::size_t enough = 250;        // results that make a batch without waiting for more
constexpr Milliseconds trusted_for{1000};  // a connection used within this time is not checked

}  // namespace

ResultWriter::ResultWriter(const config::DeliverySettings& settings, store::Session session,
                           Milliseconds between_looks, const platform::Log& log, const Metrics& metrics)
    : between_looks_(between_looks),
      log_(log),
      session_(std::move(session)),
      buffer_(settings, log_, metrics),
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

// take() counts items as unrecorded before it uncounts them as submitted: a reader in between counts them
// twice, but never misses them.
std::size_t ResultWriter::waiting() const {
  const std::size_t submitted = submitted_;
  return submitted + unrecorded_;
}

std::size_t ResultWriter::backlog() const {
  const std::size_t postponed = postponed_results_;
  const auto all = waiting();
  return all - std::min(all, postponed);
}

void ResultWriter::run(const std::stop_token& stop) {
  // A beat before each statement, because a transaction may have many slow statements.
  session_.before_statements([this] { heartbeat_.beat(); });
  try {
    while (!stop.stop_requested()) {
      heartbeat_.beat();
      const auto start = platform::monotonic_now();
      take();
      buffer_.report_local_faults(false);
      const bool got_on = record();
      publish();
      if (stop.stop_requested()) break;
      if (got_on) {
        gather(start);
        continue;
      }
      wait(away_ || failed_ ? away_wait : buffer_.waiting() > 0 ? retry_wait : idle_wait, !away_ && !failed_);
    }
    take();
    buffer_.report_local_faults(true);
  } catch (const std::exception& error) {  // out of memory: the program must end, and the log must say why
    log_.error("result writer failed; the program ends", {{"error", error.what()}});
    throw;
  }
}

/// Waits a moment for more results: a batch of ten costs the database almost as much as one of a hundred. If
/// results came while the last batch was written, more will: then the wait is three times as long as that
/// batch took. Otherwise the receivers may have nothing to answer before their last results are recorded.
void ResultWriter::gather(platform::MonotonicTime last_start) const {
  if (waiting() >= enough) return;
  const auto took = std::chrono::ceil<Milliseconds>(platform::monotonic_now() - last_start);
  auto left = between_batches - took;
  if (backlog() > 0) left = std::max(left, std::min(3 * took, longest_rest));
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

/// Records a batch. True: some results are done, and there may be more. After any error the results stay, and
/// are tried again.
bool ResultWriter::record() {
  failed_ = false;
  try {
    look_alive();
    const bool got_on = buffer_.record(session_);
    if (got_on) used_ = platform::monotonic_now();
    // After an absence of the database, `away_` stays true while the results that waited are being recorded.
    // While it is true, the loop runs no maintenance, which could recover the leases of these results.
    const bool caught_up = !got_on || buffer_.waiting() == buffer_.postponed();
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
    log_.info("transaction conflict; retrying", {{"task", "record"}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log_.error("results cannot be recorded; retrying", {{"task", "record"}, {"error", error.what()}});
    session_.disconnect();  // its state is unknown
    failed_ = true;
  }
  return false;
}

/// Checks the connection before a result needs it, and replaces a connection that has ended.
void ResultWriter::look_alive() {
  const auto now = platform::monotonic_now();
  if (!away_ && now - used_ < (buffer_.waiting() > 0 ? trusted_for : between_looks_)) return;
  // This statement reads a table, because on a Galera node that is cut off a statement that reads no table
  // fails with error 1205, which is not Unavailable.
  constexpr auto* alive = "SELECT id FROM control_envio WHERE id = 1";
  try {
    session_.query(alive);
  } catch (const store::Unavailable&) {
    session_.query(alive);
  }
  used_ = now;
}

std::set<delivery::DeliveryId> ResultWriter::unrecorded() const {
  const std::lock_guard lock(unrecorded_mutex_);
  return {unrecorded_deliveries_.begin(), unrecorded_deliveries_.end()};
}

void ResultWriter::publish() {
  // A vector, because it is copied after each batch, and read once a second. Any of these results may have
  // waited for long: a postponed result comes back behind the others, and after an absence of the database
  // all are old.
  auto unrecorded = buffer_.unrecorded();
  {
    const std::lock_guard lock(unrecorded_mutex_);
    unrecorded_deliveries_.swap(unrecorded);
  }
  refused_ = buffer_.refused();
  failed_now_ = failed_;
  postponed_results_ = buffer_.postponed();
  unrecorded_ = buffer_.waiting();
  done_.put(buffer_.take_done());
}

void ResultWriter::wait(Milliseconds longest, bool for_more) const {
  pollfd more{for_more ? items_.fd() : -1, POLLIN, 0};
  ::poll(&more, 1, static_cast<int>(longest.count()));
}

}  // namespace dispatcher
