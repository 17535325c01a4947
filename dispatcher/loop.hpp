// The thread that fetches from the database: rounds of maintenance, claim and fan-out; what becomes of what
// it sends is written down by the writer (docs/architecture.md#from-a-row-to-a-post).
//
// It promises: what was sent is recorded, also after the database was away; what is not recorded within its
// lease is attempted again; no transaction is open while anything is sent.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/http/sender.hpp"
#include "dispatcher/intake/claimer.hpp"
#include "dispatcher/intake/diagnoses.hpp"
#include "dispatcher/intake/early_claimer.hpp"
#include "dispatcher/intake/fan_out.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "dispatcher/maintenance/maintenance.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/outage/outage_watch.hpp"
#include "dispatcher/results/result_writer.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/reload_signal.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/platform/watchdog.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

class Loop {
 public:
  /// `metrics` outlives it.
  /// Of the two sessions, one fetches what is to be sent, the other writes down what became of it.
  Loop(const platform::Settings& settings, webhook::KeyRing keys, store::Session session,
       store::Session results_session, const platform::Log& log, const Metrics& metrics);

  /// Waits for the database; then until `stop`, and drains: starts nothing more, records what is in flight,
  /// gives back the rest. `reload` reads secrets.key_file again.
  void run(const platform::StopSignal& stop, const platform::ReloadSignal& reload);

 private:
  bool round();
  bool work();
  template <class F>
  bool task(std::string_view name, F&& body);  // `name`: a literal
  void drain();
  void stop_diagnoses(bool& records);
  void feed_watchdog();

  void collect();
  void follow_outages();
  bool take_recorded();
  bool may_start();
  void limit_slots();
  bool diagnose(bool may_begin);
  bool take_in();
  template <class Source>
  bool take_in(std::string_view name, Source&& source);  // `name`: a literal
  void send(LeasedBatch leased_batch);
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
  const FairSlots::Limits limits_;
  FairSlots slots_;
  Maintenance maintenance_;
  QueueScanner scanner_;
  Claimer claimer_;
  EarlyClaimer early_claimer_;
  FanOut fan_out_;
  ResultWriter writer_;
  platform::Mailbox<Attempt> attempts_;
  Sender sender_;
  OutageWatch outages_;
  Diagnoses diagnoses_;
  platform::Watchdog watchdog_;
  std::map<std::string_view, platform::MonotonicTime> retry_at_;  // of the tasks that failed, by name
  bool fan_out_first_ = false;  // claims and fan-outs take turns at the free slots
  bool away_ = false;           // the database, as last reported
  bool outage_ = false;         // of our own, as last noticed
  bool refusing_ = false;       // the database, all results, as last noticed
  platform::MonotonicTime next_trial_{};
  bool idle_ = false;  // the last round found nothing to do
};

}  // namespace dispatcher
