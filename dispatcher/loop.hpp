// The dispatcher's main thread. It runs rounds on one database session: maintenance, scan, claim and fan-out.
// ResultWriter records the results on another session (docs/architecture.md#from-a-row-to-a-post).
//
// It promises: a result is recorded even if the database was away for a time; a delivery without a recorded
// result is attempted again after its lease; no transaction waits for a receiver.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "dispatcher/claims/claimer.hpp"
#include "dispatcher/diagnoses/diagnoses.hpp"
#include "dispatcher/fan_out/fan_out.hpp"
#include "dispatcher/http/attempt.hpp"
#include "dispatcher/http/sender.hpp"
#include "dispatcher/maintenance/maintenance.hpp"
#include "dispatcher/observation/metrics.hpp"
#include "dispatcher/outage/outage_watch.hpp"
#include "dispatcher/results/result_writer.hpp"
#include "dispatcher/scan/queue_scanner.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/stop_signal.hpp"
#include "lib/platform/watchdog.hpp"
#include "lib/program/reload.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

class Loop {
 public:
  /// `session` is for rounds, `results_session` for recording results. `metrics` outlives the loop.
  Loop(const config::Settings& settings, webhook::KeyRing keys, store::Session session,
       store::Session results_session, const platform::Log& log, const Metrics& metrics);

  /// Waits for the database and then runs rounds until `stop`. Then drains: starts nothing more, records the
  /// attempts in flight, and releases the leases of deliveries not yet sent. An order to reload also reads
  /// secrets.key_file again.
  void run(const platform::StopSignal& stop, program::Reload& reload);

 private:
  bool round();
  bool work();
  template <class F>
  bool task(std::string_view name, F&& body);  // `name`: a literal
  void maintain();
  platform::MonotonicTime earliest(std::string_view name) const;
  void note_time(std::string_view name, platform::MonotonicTime start) const;
  void report(bool stopping);
  void drain(bool stopping);
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

  config::DeliverySettings settings_;
  std::string key_file_;
  webhook::SharedKeys keys_;
  store::Session session_;
  platform::Log log_;
  const Metrics& metrics_;
  const FairSlots::Limits limits_;
  FairSlots slots_;
  Maintenance maintenance_;
  ReadySet ready_;
  QueueScanner scanner_;
  Claimer claimer_;
  FanOut fan_out_;
  ResultWriter writer_;
  platform::Mailbox<Attempt> attempts_;
  Sender sender_;
  OutageWatch outages_;
  Diagnoses diagnoses_;
  platform::Watchdog watchdog_;
  std::map<std::string_view, platform::MonotonicTime> retry_at_;  // of the tasks that failed, by name
  unsigned order_ = 0;     // which of the orders of its tasks take_in() used last
  bool takes_in_ = false;  // the last round was allowed to fan out and claim
  bool away_ = false;      // the database is away; logged once
  bool outage_ = false;    // an outage of our own has limited the slots
  bool refusing_ = false;  // the database refuses all results, and the slots are limited
  platform::MonotonicTime next_forgetting_{};
  platform::MonotonicTime next_trial_{};
  bool idle_ = false;  // the last round found nothing to do
};

}  // namespace dispatcher
