// Table `auditoria`: who changed what, for as long as retention.audit says.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

/// Whose request a change is.
struct Author {
  EntityId entity;
  std::optional<TokenId> token{};
};

enum class AuditedAction { registered, changed, secret_changed, deleted, replayed, diagnosed };

/// The names by which they are stored and asked for.
inline constexpr std::array<std::string_view, 6> audited_actions{"alta", "cambio",  "secreto",
                                                                 "baja", "reenvio", "diagnostico"};

/// Within the transaction of the change. `detail` is JSON; never a secret. What the same token does to the
/// same webhook again within the same hour of the clock is counted in the row of the first time: what is the
/// same, `what` says, or else `detail`. In constant time, and no other entity waits for it.
void note_change(Session& session, const Author& author, AuditedAction action, WebhookId webhook,
                 std::string_view detail, std::optional<std::string_view> what = {});

/// What the operator does, by apientidades-admin.
struct OperatorAction {
  std::string who;     // login, uid and host
  std::string action;  // the words of the command
  std::string object;  // `token 3`
  std::optional<EntityId> entity{};
  std::optional<WebhookId> webhook{};  // its entity is noted where none is given
  std::string detail;                  // JSON: what was typed
};
void note_operator_action(Session& session, const OperatorAction& action);

struct AuditEntry {
  std::int64_t id;
  UtcTime at;
  std::optional<EntityId> entity;  // none: the operator's, of no entity
  std::optional<TokenId> token;
  std::string action;  // one of audited_actions, or the operator's command
  std::optional<WebhookId> webhook;
  std::string detail;                        // of the first time
  std::optional<std::string> operator_name;  // none: it came through the API
  std::optional<std::string> object;         // of the operator's
  std::int64_t times;                        // 1 or more
  UtcTime last;                              // of them
};
/// Reads entity, webhook, since (of the last time) and limit of `filter`; one `action` alone if it is given.
std::vector<AuditEntry> list_audit(Session& session, const ListFilter& filter,
                                   const std::optional<std::string>& action = {});

/// Entities that have changed a webhook through the API in the last hour, a hundred of them at most.
std::int64_t count_changing_entities(Session& session);

/// Forgets a batch of what is older than `kept`; how many.
std::uint64_t forget_old_audit(Session& session, platform::Milliseconds kept);

}  // namespace store
