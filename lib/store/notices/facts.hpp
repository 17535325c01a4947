// What apientidades-notices decides from: contacts, and what the tables say about their entities. Each
// function reads by index, a page or a list of entities at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/contacts/kinds.hpp"
#include "lib/store/outages/outages.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct NoticeContact {
  ContactId id;
  EntityId entity;
  std::string address;
  contacts::KindSet kinds;
  bool confirmed = false;
};
/// Reads contacts of active entities after `after`, in the order of the entities: at most `limit`, but all
/// contacts of the last entity. Leaves out addresses that the mail server has refused for good.
std::vector<NoticeContact> read_contacts_page(Session& session, EntityId after, unsigned limit);

/// An unconfirmed contact that waits for the code asked for at `issued`, less than a day ago.
struct WaitingCode {
  ContactId contact;
  EntityId entity;
  UtcTime issued;
};
/// Reads those that no notice tells of yet.
std::vector<WaitingCode> read_waiting_codes(Session& session, unsigned limit);

struct WebhookFacts {
  WebhookId id;
  EntityId entity;
  std::string name;  // given by its entity; may be empty
  std::string host;
  bool active = true;
  std::string reason{};                     // why it is not
  std::optional<UtcTime> deactivated{};     // if it is not active
  std::int64_t failures = 0;                // of a failure streak that goes on; 0: there is none
  std::optional<UtcTime> failing_since{};   // set if and only if `failures` is not 0
  std::optional<UtcTime> worked_at{};       // of its last attempt, if that succeeded
  std::string last_error{};                 // a sentence of ours
  std::optional<UtcTime> certificate{};     // the end of the receiver's certificate
  std::optional<UtcTime> previous_until{};  // the end of the previous secret
  UtcTime changed{};  // the last time that it was changed: the secret or something later
};
/// Reads the webhooks of the entities, without deleted ones.
std::vector<WebhookFacts> read_webhook_facts(Session& session, const std::vector<EntityId>& entities);

struct TokenFacts {
  TokenId id;
  EntityId entity;
  std::string label;
  UtcTime created;
  UtcTime expires;
};
/// Reads the tokens of the entities that end within `ahead` and are not revoked.
std::vector<TokenFacts> read_ending_tokens(Session& session, const std::vector<EntityId>& entities,
                                           platform::Milliseconds ahead);

/// The last notice to a contact that a webhook fails or is deactivated, if the contact was not told since
/// that it works again.
struct ToldFailure {
  ContactId contact;
  WebhookId webhook;
  NoticeId notice;
  UtcTime created;
};
std::vector<ToldFailure> read_told_failures(Session& session, const std::vector<WebhookId>& webhooks);

/// Those of the webhooks with a delivery that may have become `fallida` in the last four days.
std::vector<WebhookId> read_webhooks_with_failed(Session& session, const std::vector<WebhookId>& webhooks);
/// Counts deliveries of the webhook that became `fallida` in [from, until), without test events; counts to
/// most_failed_counted. Leaves out those that were held for too long (lib/store/maintenance/held.hpp).
std::int64_t count_failed(Session& session, WebhookId webhook, UtcTime from, UtcTime until);
inline constexpr std::int64_t most_failed_counted = 10'000;
/// Counts what waits for the webhook, pending or held. A result above most_waiting_counted means "more".
std::int64_t count_waiting(Session& session, WebhookId webhook);
inline constexpr std::int64_t most_waiting_counted = 1000;

struct NoticeTimes {
  UtcTime now;  // of the database
  OutageTimes outages;
  bool begins;  // whether notices may begin: the clock is believed, and no outage of ours lasts
};
NoticeTimes read_notice_times(Session& session);

struct EntityWithoutContact {
  EntityId entity;
  std::string name;
};
/// Reads active entities that have a webhook and no confirmed contact, by id.
std::vector<EntityWithoutContact> read_entities_without_contact(Session& session);

}  // namespace store
