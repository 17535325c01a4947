// The URL and the secrets for a webhook's deliveries.
#pragma once

#include <optional>
#include <string>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace store {

struct Target {
  WebhookId webhook = 0;
  std::string url;
  std::optional<webhook::SealedSecret> secret;
  std::optional<webhook::SealedSecret> previous_secret{};  // while its grace runs
};

/// Reads the columns webhook_id, url, those of both secrets (sealed texts in hexadecimal), secreto_vigente,
/// and en_gracia, which says whether the other secret also signs.
Target read_target(const Row& row);

}  // namespace store
