// Table `auditoria`: who changed what. Rows are kept for retention.audit.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// The entity that requested a change, and the token that it used.
struct Author {
  EntityId entity;
  std::optional<TokenId> token{};
};

enum class AuditedAction {
  registered,
  changed,
  secret_changed,
  deleted,
  replayed,
  diagnosed,
  contacts_changed
};

/// The actions' names in the table and in filters.
inline constexpr std::array<std::string_view, 7> audited_actions{"alta",    "cambio",      "secreto",  "baja",
                                                                 "reenvio", "diagnostico", "contactos"};

/// The URL for an entry's `detail`. A long URL is cut, and followed by the start of its SHA-256, so that an
/// entry has at most 1 KiB.
std::string audited_url(std::string_view url);

/// Adds a row for a change, within the transaction that makes the change. `detail` is JSON, and never a
/// secret. Changes with the same author, action, webhook and `what` (by default `detail`) within one clock
/// hour share a row, which counts them. `webhook` is unset for `contacts_changed`. Takes constant time, and
/// makes no other entity wait.
void note_change(Session& session, const Author& author, AuditedAction action,
                 std::optional<WebhookId> webhook, std::string_view detail,
                 std::optional<std::string_view> what = {});

/// A change that the operator makes with apientidades-admin.
struct OperatorAction {
  std::string who;     // login, uid and host
  std::string action;  // the words of the command
  std::string object;  // `token 3`
  std::optional<EntityId> entity{};
  std::optional<WebhookId> webhook{};  // if `entity` is unset, the entity of this webhook is noted
  std::string detail;                  // JSON: the command as typed
};
void note_operator_action(Session& session, const OperatorAction& action);

struct AuditEntry {
  AuditId id;
  UtcTime at;
  std::optional<EntityId> entity;  // unset: an operator's command that concerns no entity
  std::optional<TokenId> token;
  std::string action;  // one of audited_actions, or the operator's command
  std::optional<WebhookId> webhook;
  std::string detail;                        // of the first occurrence
  std::optional<std::string> operator_name;  // unset: made through the API
  std::optional<std::string> object;         // of an operator's command
  std::int64_t times;                        // 1 or more
  UtcTime last;                              // the latest occurrence
};
/// Lists the newest `filter.limit` entries, oldest first, that match `action` (unset: any) and the entity,
/// webhook and since of `filter`. `since` bounds the latest occurrence.
std::vector<AuditEntry> list_audit(Session& session, const ListFilter& filter,
                                   const std::optional<std::string>& action = {});

/// A change as its entity sees it.
struct OwnAuditEntry {
  AuditId id;
  UtcTime at;
  std::string action;  // one of audited_actions, or of a newer release
  std::optional<WebhookId> webhook;
  std::string detail;                // of the first occurrence
  std::optional<std::string> token;  // the label of the token; unset: not known
  std::int64_t times;                // 1 or more
  UtcTime last;                      // the latest occurrence
};
struct AuditPage {
  std::vector<OwnAuditEntry> entries;  // newest first
  std::optional<AuditId> next;         // the next page is older than this; unset: this page is the last
};
/// Reads what the entity changed, with a token labelled `token` (unset: any), newest first and older than
/// `before` (unset: all). Reads `limit` rows at most and leaves out the operator's and those of other tokens,
/// so a page may have fewer entries and still a `next`.
AuditPage read_audit_page(Session& session, EntityId entity, unsigned limit, std::optional<AuditId> before,
                          const std::optional<std::string>& token = {});

/// Counts the entities that changed a webhook through the API in the last hour; counts at most 100.
std::int64_t count_changing_entities(Session& session);

/// Deletes a batch of rows older than `kept`. Returns their number.
std::uint64_t forget_old_audit(Session& session, platform::Milliseconds kept);

}  // namespace store
