// Table `auditoria`: who changed what, for as long as retention.audit says.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/session/session.hpp"
#include "store/types.hpp"

namespace store {

/// Whose request a change is.
struct Author {
  EntityId entity;
  std::optional<TokenId> token{};
};

enum class AuditedAction { registered, changed, secret_changed, deleted, replayed };

/// The names by which they are stored and asked for.
inline constexpr std::array<std::string_view, 5> audited_actions{"alta", "cambio", "secreto", "baja",
                                                                 "reenvio"};

/// Within the transaction of the change. `detail` is JSON; never a secret. What the same token does to the
/// same webhook again within the same hour of the clock is counted in the row of the first time: what is the
/// same, `what` says, or else `detail`. In constant time, and no other entity waits for it.
void note_change(Session& session, const Author& author, AuditedAction action, WebhookId webhook,
                 std::string_view detail, std::optional<std::string_view> what = {});

struct AuditEntry {
  std::int64_t id;
  UtcTime at;
  EntityId entity;
  std::optional<TokenId> token;
  std::string action;  // one of audited_actions
  std::optional<WebhookId> webhook;
  std::string detail;  // of the first time
  std::int64_t times;  // 1 or more
  UtcTime last;        // of them
};
/// Of `filter`: entity, webhook, since (of the last time) and limit; of one `action` if it is given.
std::vector<AuditEntry> list_audit(Session& session, const ListFilter& filter,
                                   const std::optional<std::string>& action = {});

/// Entities that have changed a webhook through the API in the last hour, a hundred of them at most.
std::int64_t count_changing_entities(Session& session);

/// Forgets a batch of what is older than `kept`; how many.
std::uint64_t forget_old_audit(Session& session, platform::Milliseconds kept);

}  // namespace store
