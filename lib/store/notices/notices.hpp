// Table `avisos`: what is told by mail. The states are `pendiente`, `enviando` (in a mail that is under way,
// or waits for another try), `enviado`, `fallido` (given up) and `descartado` (no longer to be told).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/contacts/kinds.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Values of `tipo` besides the names of contacts::Kind.
inline constexpr std::string_view code_notice = "codigo";
inline constexpr std::string_view digest_notice = "resumen";
inline constexpr std::string_view day_summed_up = "sin_novedad";  // notes that a day is done; never sent
/// `contacto_id` of what the operator is told.
inline constexpr std::int64_t operator_contact = 0;

/// Kept for this long.
inline constexpr std::chrono::days notices_kept{90};
/// What was not sent this long after it was due or first tried is given up.
inline constexpr std::chrono::days notice_patience{2};
/// A mail under way belongs to one run for this long. Longer than a send takes.
inline constexpr platform::Milliseconds mail_lease = std::chrono::minutes(5);

struct NewNotice {
  ContactId contact;
  std::optional<EntityId> entity;
  std::optional<WebhookId> webhook;
  std::string kind;
  std::string episode;  // unique for contact and kind; at most 80 characters
  std::string data;     // JSON
  platform::Milliseconds delay{};
  bool operator==(const NewNotice&) const = default;
};
/// Adds those that are not there. Returns how many it has added.
std::uint64_t add_notices(Session& session, const std::vector<NewNotice>& notices);

struct Notice {
  NoticeId id;
  std::optional<EntityId> entity;
  std::optional<WebhookId> webhook;
  std::string kind;
  std::string episode;
  std::string data;
  UtcTime created;
  std::int64_t waiting = 0;  // count_waiting(), for a notice of a webhook that receives nothing
};

/// A mail to send now.
struct Mail {
  std::string id;
  ContactId contact;
  std::string address;             // empty: the operator's
  std::optional<EntityId> entity;  // and its name
  std::string entity_name;
  std::optional<UtcTime> code_issued;  // of the contact, while it waits for its confirmation
  std::vector<Notice> notices;         // by id; never empty
  unsigned tries = 1;                  // with the one to come
};
/// Until when addresses get no further mail, as far as one run has asked.
using AddressRests = std::map<std::string, UtcTime>;
/// Takes the next mail that is due, under a lease of mail_lease: a new one with a code or a deactivation,
/// then a mail of before whose next try is due or whose run has died, then a new one of what waits for one
/// contact, the longest due first. A new mail of notices other than codes and deactivations comes at the
/// earliest an hour after the last of such notices to the same address, also as a contact of other entities.
/// Discards what the contact no longer wants, and codes that no longer count; gives up what has waited for
/// its address for a week. Returns nullopt when nothing is due, or other sessions keep what is.
std::optional<Mail> take_mail(Session& session, AddressRests& rests);

void note_sent(Session& session, const Mail& mail);
/// Another try follows `wait` from now.
void note_deferred(Session& session, const Mail& mail, platform::Milliseconds wait, std::string_view error);
/// The server has refused the contact's address for good: marks it.
void note_refused(Session& session, const Mail& mail, std::string_view error);

/// Gives up a batch of what has waited for longer than notice_patience. Returns their number.
std::uint64_t give_up_old(Session& session);
/// Discards what waits to be told of failures, secrets, certificates and tokens that have ended or were
/// renewed.
std::uint64_t discard_ended(Session& session);
/// Deletes a batch older than notices_kept.
std::uint64_t forget_old_notices(Session& session);

/// Whether this is in the table.
bool has_notice(Session& session, ContactId contact, std::string_view kind, std::string_view episode);

struct ListedNotice {
  NoticeId id;
  ContactId contact;
  std::optional<std::string> address;  // unset: the operator's, or the contact was removed
  std::optional<EntityId> entity;
  std::optional<WebhookId> webhook;
  std::string kind;
  std::string state;
  std::int64_t tries;
  UtcTime created;
  UtcTime next;  // while it waits
  std::optional<UtcTime> sent;
  std::optional<std::string> mail;
  std::string error;
  std::string data;
};
/// Lists the newest that match entity, webhook, state and since of the filter, oldest first.
std::vector<ListedNotice> list_notices(Session& session, const ListFilter& filter);
std::optional<ListedNotice> find_notice(Session& session, NoticeId id);
enum class Resent {
  done,
  under_way,  // a mail with it is
  unwanted,  // its contact is gone, not confirmed, or does not want it; or it is a code that no longer counts
};
/// Makes a mail of it that is due, and lifts the refusal of its contact. Requires a transaction, which its
/// caller takes back unless it is done.
Resent resend_notice(Session& session, NoticeId id);

struct RefusalsLifted {
  std::uint64_t contacts;
  std::uint64_t notices;  // `fallido` ones of seven days that are `pendiente` again
};
/// Lifts every refusal.
RefusalsLifted resend_refused(Session& session);

struct NoticeCounts {
  std::int64_t waiting = 0;   // pendiente or enviando
  std::int64_t oldest_s = 0;  // how long the oldest of them is due or under way; 0: none is. Without codes
                              // that were not accepted at once
  std::int64_t sent = 0;      // in the last 24 h
  std::int64_t given_up = 0;  // fallido in the last 3 days, of confirmed contacts that are not refused
  std::int64_t refused = 0;   // contacts that the mail server has refused
};
NoticeCounts count_notices(Session& session);

}  // namespace store
