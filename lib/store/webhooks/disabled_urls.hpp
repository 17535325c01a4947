// Table `urls_desactivadas`: what the operator has disabled stays so for its entity when the webhook is
// deleted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

struct DisabledUrl {
  EntityId entity;
  std::string url;
  WebhookId webhook;  // that was disabled; it may be gone, or go elsewhere by now
  UtcTime since;
};
/// Reads entity, webhook, since and limit of `filter`; the newest, oldest first.
std::vector<DisabledUrl> list_disabled_urls(Session& session, const ListFilter& filter);

/// Whether one of `disabled` is another spelling of the same target.
bool is_disabled(const std::vector<std::string>& disabled, std::string_view url);
bool is_disabled_url(Session& session, EntityId entity, std::string_view url);

/// Within the transaction that disables the webhook.
void note_disabled_url(Session& session, WebhookId webhook);
/// However it is spelt; how many.
std::uint64_t lift_disabled_url(Session& session, EntityId entity, std::string_view url);

}  // namespace store
