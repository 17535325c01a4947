// Carries out transfers: each turns a job with its addresses into an attempt. Transfer says when it needs a
// new connection, which the dialler makes, and when a request must be repeated on a fresh one.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dispatcher/http/connection_pools.hpp"
#include "dispatcher/http/dialler.hpp"
#include "dispatcher/http/job.hpp"
#include "dispatcher/http/poller.hpp"
#include "dispatcher/http/transfer.hpp"
#include "dispatcher/http/transport.hpp"
#include "lib/config/config.hpp"

namespace dispatcher {

/// Not thread-safe.
class Transfers {
 public:
  /// `settings` and `poller` outlive this object. Throws std::runtime_error if libcurl fails.
  Transfers(const config::DeliverySettings& settings, Poller& poller);
  /// Abandons what is in progress.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Begins a job. Returns its attempt if this host could not begin it; otherwise advance() returns the
  /// attempt.
  std::optional<Attempt> begin(Job job);

  struct Ended {
    Request::Purpose purpose;
    Attempt attempt;
    bool kept;  // the connection can be used again
  };
  /// Advances all transfers, and returns those that have ended since the last call.
  std::vector<Ended> advance();

  using Hosts = std::set<std::string_view>;
  /// Hosts to which a connection is being made; valid until the next call that is not const.
  Hosts connecting() const;
  /// Whether a connection for a request that waits since `since` should wait for others to be dialled.
  bool would_wait(bool to_quick, platform::MonotonicTime since) const;
  /// How many connections may be begun at once: only one after a long round.
  std::size_t dials_now() const;
  /// Whether less than three quarters of the sockets that libcurl may keep are open. Then a new connection
  /// hardly ever makes libcurl close a kept one.
  bool has_room() const;

  void process(const Poller::Event& event);
  /// The time at which to call advance() even without an event; nullopt: nothing waits for a time.
  std::optional<platform::MonotonicTime> next_timeout() const;

 private:
  template <class F>
  bool add(Transfer& transfer, F&& configure);
  Transfer* idle_transfer();
  Attempt end(Transfer& transfer, CURLcode code);
  void note_ended(Ended ended);
  void end_silent();
  void finish(Transfer& transfer, CURLcode code);
  void repeat_or_finish(Transfer& transfer, CURLcode code);
  void continue_dialled(Dialled dialled);
  void continue_interrupted(CURL* handle);
  void note_deadline(const Transfer& transfer);
  void end_overdue();
  struct Undialled {
    Transfer* transfer;
    platform::MonotonicTime since;
  };
  std::optional<Undialled> take_undialled();
  void dial_some();

  const config::DeliverySettings& settings_;
  const Poller& poller_;
  Dialler dialler_;
  Connections connections_;
  Transport transport_;  // after connections_, because its destructor closes connections counted there
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<Transfer*> idle_;                     // the free ones of transfers_
  std::array<std::deque<Undialled>, 2> undialled_;  // the second one goes first
  unsigned dials_ = 0;
  std::vector<Ended> ended_;                              // since the last advance()
  std::vector<Ended> silent_;                             // not yet in ended_
  std::optional<platform::MonotonicTime> next_deadline_;  // of a transfer, or earlier
};

}  // namespace dispatcher
