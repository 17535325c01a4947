// Table `urls_desactivadas`: URLs that the operator has disabled for an entity. They stay disabled when the
// webhook is deleted.
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
  WebhookId webhook;  // the disabled webhook; it may be deleted, or have another URL now
  UtcTime since;
};
/// Lists the URLs that match entity, webhook and since of `filter`, oldest first. If more match than the
/// filter's limit, the list has only the newest.
std::vector<DisabledUrl> list_disabled_urls(Session& session, const ListFilter& filter);

/// Whether `url` is one of `disabled`, in any spelling.
bool is_disabled(const std::vector<std::string>& disabled, std::string_view url);
bool is_disabled_url(Session& session, EntityId entity, std::string_view url);

/// Notes the webhook's URL as disabled, within the transaction that disables the webhook.
void note_disabled_url(Session& session, WebhookId webhook);
/// Enables the URL in all its spellings. Returns the number of rows deleted.
std::uint64_t lift_disabled_url(Session& session, EntityId entity, std::string_view url);

}  // namespace store
