// The database's thread: rounds of settle, claim, expand and upkeep (design section 2, "A row to a POST").
//
// It promises: what was sent is settled, also after the database was away; what is not settled within its
// lease is attempted again; no transaction is open while anything is sent.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "attempt.hpp"
#include "mailbox.hpp"
#include "platform/config.hpp"
#include "platform/log.hpp"
#include "platform/stop_signal.hpp"
#include "sender.hpp"
#include "slots.hpp"
#include "store/claim.hpp"
#include "store/expansion.hpp"
#include "store/session.hpp"
#include "store/settlement.hpp"
#include "upkeep.hpp"
#include "webhook/sealed_secret.hpp"

namespace dispatcher {

class Loop {
 public:
  Loop(const platform::Settings& settings, webhook::KeyRing keys, store::Session session,
       const platform::Log& log);

  /// Throws when the database is away, refuses the user, or has no schema: told at the start, where the
  /// operator looks.
  void check_database();

  /// Until the signal; then drains: starts nothing more, settles what is in flight, gives back the rest.
  void run(const platform::StopSignal& stop);

 private:
  using Targets = std::map<store::WebhookId, store::Target>;

  bool round();
  bool work();
  template <class F>
  bool duty(std::string_view name, F&& body);
  void drain();

  void collect();
  bool settle();
  void settle_batch(const std::vector<store::Settlement>& batch);
  void report_settled(const store::SettleResult& result) const;
  bool claim_due();
  bool expand();
  bool expand(const std::vector<store::EntityId>& entities);

  std::vector<store::ClaimRequest> plan_claims(const std::vector<store::DueWebhook>& due);
  store::Lease new_lease();
  void send(std::vector<store::LeasedDelivery> deliveries, const Targets& targets,
            const std::map<store::WebhookId, bool>& probing, platform::MonotonicTime claimed_at);
  void log_attempt(const Attempt& attempt, const store::Settlement& settlement) const;
  void report_away(const std::exception& error);
  void wait(const platform::StopSignal* stop, platform::Milliseconds longest);

  platform::DeliverySettings settings_;
  webhook::KeyRing keys_;
  store::Session session_;
  platform::Log log_;
  Slots slots_;
  Upkeep upkeep_;
  Mailbox<Attempt> attempts_;
  Sender sender_;
  std::mt19937_64 random_;
  store::EntityId entity_cursor_ = 0;
  store::WebhookId webhook_cursor_ = 0;
  unsigned expand_alone_ = 0;  // so many turns of one entity each, after a batch that the database refused
  std::vector<store::Settlement> unsettled_;
  std::vector<store::LeasedDelivery> unreleased_;
  bool away_ = false;  // the database, as last reported
};

}  // namespace dispatcher
