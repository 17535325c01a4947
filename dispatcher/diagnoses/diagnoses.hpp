// Carries out the diagnoses that entities ask for: begins a diagnosis when there is a slot for it, and sends
// its next test requests once the previous ones have a result (docs/delivery.md#diagnosis).
//
// They have slots and a network's thread of their own, apart from those of the deliveries. Before each step a
// diagnosis's lease is renewed and the webhook is read again. A diagnosis ends if this host cannot send a
// request or the database refuses a write.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "dispatcher/http/sender.hpp"
#include "dispatcher/schedule/ready_set.hpp"
#include "lib/config/config.hpp"
#include "lib/delivery/diagnosis.hpp"
#include "lib/platform/log.hpp"
#include "lib/platform/mailbox.hpp"
#include "lib/platform/watchdog.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"
#include "lib/store/session/session.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace dispatcher {

/// Diagnoses that run at the same time, in all and of one entity.
inline constexpr unsigned most_diagnoses = 16;
inline constexpr unsigned most_of_entity = 2;
/// Their test requests in flight at the same time.
inline constexpr unsigned most_test_requests = most_diagnoses * delivery::most_handshakes;

class Diagnoses {
 public:
  /// No webhook may reach `database_hosts`. Throws std::runtime_error.
  Diagnoses(const config::DeliverySettings& settings, const platform::Log& log,
            const std::vector<std::string>& database_hosts);

  struct Round {
    store::Session& session;
    const ReadySet& ready;
    const webhook::KeyRing& keys;
    bool outage = false;  // of our own link or name servers
    bool may_begin = true;
  };
  /// Advances running diagnoses for a slice of time, then begins new ones for another. Returns true if more
  /// can be done at once. Throws errors of the session or the server.
  bool work(const Round& round);
  /// Takes the results of test requests.
  void take_ended();
  /// A descriptor, readable when take_ended() has something to take.
  int fd() const { return attempts_.fd(); }
  const platform::Heartbeat& heartbeat() const { return sender_.heartbeat(); }
  /// Hands back the requests that wait for a connection: the queue or a part of it is paused.
  void return_waiting() { sender_.return_waiting(); }
  std::size_t running() const { return running_.size(); }

  /// For the end of the service. Releases each diagnosis that has sent no HTTP request yet, so that another
  /// dispatcher can begin it. Ends each other diagnosis, unless it has an HTTP request in flight. If
  /// `session` is nullptr, the database is away and the leases expire. Starts no further request.
  void stop(store::Session* session);

 private:
  struct Awaited {
    delivery::TestRequest test_request;
    std::shared_ptr<delivery::Observation> observed;  // the same as that of its attempt
  };
  struct Running {
    delivery::WebhookId webhook = 0;
    delivery::EntityId entity = 0;
    std::uint64_t messages = 0;  // a random number in the webhook-id of its requests
    delivery::Diagnosis diagnosis;
    platform::MonotonicTime began{};
    platform::UtcTime occurred{};
    std::string genuine{};           // the body of the request that the receiver must accept; sent twice
    std::vector<Awaited> awaited{};  // test requests without a result yet
    unsigned handed_back = 0;        // test requests that came back unsent
    bool sent = false;               // the sender got an HTTP request, and did not hand it back unsent
    bool failed = false;             // this host could not send a request
  };
  using All = std::map<std::uint64_t, Running>;  // by lease

  void ended(const Attempt& attempt);
  bool advance(const Round& round);
  unsigned running_of(delivery::EntityId entity) const;
  bool begin(const Round& round);
  platform::Milliseconds begin_one(const Round& round, const store::DiagnosisTarget& target);
  template <class F, class G>
  void isolate(delivery::WebhookId webhook, F&& work, G&& give_up);
  void advance(const Round& round, All::iterator one);
  std::optional<delivery::DiagnosisStop> obstacle(const Round& round, const Running& running,
                                                  const store::DiagnosisTarget& target) const;
  bool ask(const Round& round, All::iterator one, const store::DiagnosisTarget& target,
           const std::vector<delivery::TestRequest>& test_requests, platform::MonotonicTime leased_at);
  static void fill_in(Request& request, const delivery::TestRequest& test_request, Running& running,
                      const store::DiagnosisTarget& target);
  void finish(store::Session& session, All::iterator one, std::optional<delivery::DiagnosisStop> why);
  void forget(All::iterator one);

  const config::DeliverySettings settings_;
  const std::vector<platform::IpNetwork> hidden_;
  platform::Log log_;
  platform::Mailbox<Attempt> attempts_;
  Sender sender_;
  std::mt19937_64 random_;
  All running_;
  std::uint64_t served_ = 0;       // key in running_ of the last diagnosis advanced
  delivery::WebhookId after_ = 0;  // the next search begins after this webhook
  platform::MonotonicTime next_look_{};
};

}  // namespace dispatcher
