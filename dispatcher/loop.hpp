// The thread that fetches from the database: rounds of upkeep, claim and expand; what becomes of what it
// sends is written down by the settler (design section 2, "A row to a POST").
//
// It promises: what was sent is settled, also after the database was away; what is not settled within its
// lease is attempted again; no transaction is open while anything is sent.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "attempt.hpp"
#include "intake.hpp"
#include "lookout.hpp"
#include "mailbox.hpp"
#include "metrics.hpp"
#include "platform/config.hpp"
#include "platform/log.hpp"
#include "platform/reload_signal.hpp"
#include "platform/stop_signal.hpp"
#include "platform/watchdog.hpp"
#include "sender.hpp"
#include "settler.hpp"
#include "slots.hpp"
#include "store/session.hpp"
#include "upkeep.hpp"
#include "webhook/sealed_secret.hpp"

namespace dispatcher {

class Loop {
 public:
  /// `metrics` outlives it.
  /// Of the two sessions, one fetches what is to be sent, the other writes down what became of it.
  Loop(const platform::Settings& settings, webhook::KeyRing keys, store::Session session,
       store::Session settlements, const platform::Log& log, const Metrics& metrics);

  /// Waits for the database; then until `stop`, and drains: starts nothing more, settles what is in flight,
  /// gives back the rest. `reload` reads secrets.key_file again.
  void run(const platform::StopSignal& stop, const platform::ReloadSignal& reload);

 private:
  bool round();
  bool work();
  template <class F>
  bool duty(std::string_view name, F&& body);  // `name`: a literal
  void drain();
  void go_on();

  void collect();
  bool heed_settled();
  bool may_start() const;
  bool take_in();
  using Source = Shipment (Intake::*)(store::Session&, Lookout&, const Slots&);
  bool take_in(std::string_view name, Source source);
  void send(Shipment shipment);
  void report_away(const std::exception& error);
  void report_back();
  platform::Milliseconds until_next_look() const;
  void show() const;
  void wait(platform::Milliseconds longest, std::array<int, 2> signals = {-1, -1});

  platform::DeliverySettings settings_;
  std::string key_file_;
  webhook::SharedKeys keys_;
  store::Session session_;
  platform::Log log_;
  const Metrics& metrics_;
  Slots slots_;
  Upkeep upkeep_;
  Lookout lookout_;
  Intake intake_;
  Settler settler_;
  Mailbox<Attempt> attempts_;
  Sender sender_;
  platform::Watchdog watchdog_;
  std::map<std::string_view, platform::MonotonicTime> retry_at_;  // of the duties that failed, by name
  bool expand_first_ = false;  // claims and expansions take turns at the free slots
  bool away_ = false;          // the database, as last reported
  bool idle_ = false;          // the last round found nothing to do
};

}  // namespace dispatcher
