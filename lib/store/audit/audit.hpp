// Table `auditoria`: who changed what, for as long as retention.audit says.
#pragma once

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

/// Within the transaction of the change. `detail` is JSON; never a secret.
void note_change(Session& session, const Author& author, AuditedAction action, WebhookId webhook,
                 std::string_view detail);

struct AuditEntry {
  std::int64_t id;
  UtcTime at;
  EntityId entity;
  std::optional<TokenId> token;
  std::string action;  // alta, cambio, secreto, baja, reenvio
  std::optional<WebhookId> webhook;
  std::string detail;
};
/// Of `filter`: entity, webhook, since and limit.
std::vector<AuditEntry> list_audit(Session& session, const ListFilter& filter);

/// Entities that have changed a webhook through the API in the last hour, a hundred of them at most.
std::int64_t count_changing_entities(Session& session);

/// Forgets a batch of what is older than `kept`; how many.
std::uint64_t forget_old_audit(Session& session, platform::Milliseconds kept);

}  // namespace store
