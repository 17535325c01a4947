// Diagnoses of receivers that entities ask for: begun as far as there are slots, and gone on with as their
// questions are answered (docs/delivery.md#diagnosis).
//
// It promises: a diagnosis holds one slot of its webhook from its beginning to its end, so it costs its own
// entity alone; each question is asked under a lease that was renewed for it, of what the webhook is by then;
// what cannot be asked or recorded ends it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/intake/queue_scanner.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "lib/delivery/diagnosis.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

class Sender;

class Diagnoses {
 public:
  /// `sender` outlives it.
  Diagnoses(const platform::DeliverySettings& settings, const platform::Log& log, Sender& sender);

  /// How one of its questions ended.
  void ended(const Attempt& attempt);

  struct Turn {
    store::Session& session;
    QueueScanner& scanner;
    FairSlots& slots;
    const webhook::KeyRing& keys;
    bool outage = false;  // of our own
    bool may_begin = true;
  };
  /// Goes on with what was answered, and begins what is asked for, for a slice of time. True: there is more
  /// to do at once. Throws what concerns the session or the server.
  bool work(const Turn& turn);

  /// Ends all but those of which a request is under way: the service stops. What nothing was sent of waits
  /// for another dispatcher. `session` nullptr: the database is away, and the leases run out.
  void stop(store::Session* session, FairSlots& slots);

 private:
  struct Running {
    delivery::WebhookId webhook = 0;
    std::uint64_t messages = 0;  // names them, to the receiver
    delivery::Diagnosis diagnosis;
    platform::MonotonicTime began{};
    platform::UtcTime occurred{};
    std::string genuine{};  // its body
    unsigned awaited = 0;   // answers
    unsigned handed_back = 0;
    bool sent = false;    // a request; one that was handed back first was not
    bool failed = false;  // this host could not
  };
  using All = std::map<std::uint64_t, Running>;  // by lease

  bool advance(const Turn& turn);
  bool begin(const Turn& turn);
  platform::Milliseconds begin_one(const Turn& turn, const store::DiagnosisTarget& target);
  template <class F, class G>
  void isolate(delivery::WebhookId webhook, F&& work, G&& give_up);
  void advance(const Turn& turn, All::iterator one);
  std::optional<delivery::DiagnosisStop> obstacle(const Turn& turn, const Running& running,
                                                  const store::DiagnosisTarget& target) const;
  bool ask(const Turn& turn, All::iterator one, const store::DiagnosisTarget& target,
           std::vector<delivery::Probe> probes, platform::MonotonicTime leased_at);
  void fill_in(Request& request, Running& running, const store::DiagnosisTarget& target) const;
  void finish(store::Session& session, FairSlots& slots, All::iterator one,
              std::optional<delivery::DiagnosisStop> why);
  void forget(FairSlots& slots, All::iterator one);

  const platform::DeliverySettings settings_;
  const std::vector<platform::IpNetwork> hidden_;
  platform::Log log_;
  Sender& sender_;
  std::mt19937_64 random_;
  All running_;
  std::uint64_t served_ = 0;       // of running_, the last one gone on with
  delivery::WebhookId after_ = 0;  // the next look begins there
  platform::MonotonicTime next_look_{};
};

}  // namespace dispatcher
