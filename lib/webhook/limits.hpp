// Limits that web/docs/limites.md promises.
#pragma once

namespace webhook {

inline constexpr unsigned max_webhooks_per_entity = 5;

}  // namespace webhook
