// Carries out the diagnoses that entities ask for: begins a diagnosis when there is a slot for it, and sends
// its next test requests once the previous ones have a result (docs/delivery.md#diagnosis).
//
// A diagnosis holds one slot of its webhook from its beginning to its end, so it costs its own entity alone.
// Before each step its lease is renewed and the webhook is read again. A diagnosis ends if this host cannot
// send a request or the database refuses a write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/schedule/fair_slots.hpp"
#include "dispatcher/schedule/ready_set.hpp"
#include "lib/delivery/diagnosis.hpp"
#include "lib/platform/config/config.hpp"
#include "lib/platform/log.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

class Sender;

class Diagnoses {
 public:
  /// `sender` outlives this object.
  Diagnoses(const platform::DeliverySettings& settings, const platform::Log& log, Sender& sender);

  /// Takes the result of a test request.
  void ended(const Attempt& attempt);

  struct Round {
    store::Session& session;
    ReadySet& ready;
    FairSlots& slots;
    const webhook::KeyRing& keys;
    bool outage = false;  // of our own link or name servers
    bool may_begin = true;
  };
  /// Advances running diagnoses for a slice of time, then begins new ones for another. Returns true if more
  /// can be done at once. Throws errors of the session or the server.
  bool work(const Round& round);

  /// For the end of the service. Releases each diagnosis that has sent no HTTP request yet, so that another
  /// dispatcher can begin it. Ends each other diagnosis, unless it has an HTTP request in flight. If
  /// `session` is nullptr, the database is away and the leases expire.
  void stop(store::Session* session, FairSlots& slots);

 private:
  struct Running {
    delivery::WebhookId webhook = 0;
    std::uint64_t messages = 0;  // a random number in the webhook-id of its requests
    delivery::Diagnosis diagnosis;
    platform::MonotonicTime began{};
    platform::UtcTime occurred{};
    std::string genuine{};     // the body of the request that the receiver must accept; sent twice
    unsigned awaited = 0;      // test requests without a result yet
    unsigned handed_back = 0;  // test requests that came back unsent
    bool sent = false;         // the sender got an HTTP request, and did not hand it back unsent
    bool failed = false;       // this host could not send a request
  };
  using All = std::map<std::uint64_t, Running>;  // by lease

  bool advance(const Round& round);
  bool begin(const Round& round);
  platform::Milliseconds begin_one(const Round& round, const store::DiagnosisTarget& target);
  template <class F, class G>
  void isolate(delivery::WebhookId webhook, F&& work, G&& give_up);
  void advance(const Round& round, All::iterator one);
  std::optional<delivery::DiagnosisStop> obstacle(const Round& round, const Running& running,
                                                  const store::DiagnosisTarget& target) const;
  bool ask(const Round& round, All::iterator one, const store::DiagnosisTarget& target,
           std::vector<delivery::TestRequest> test_requests, platform::MonotonicTime leased_at);
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
  std::uint64_t served_ = 0;       // key in running_ of the last diagnosis advanced
  delivery::WebhookId after_ = 0;  // the next search begins after this webhook
  platform::MonotonicTime next_look_{};
};

}  // namespace dispatcher
