// Where a webhook's deliveries go.
#pragma once

#include <optional>
#include <string>

#include "store/session/session.hpp"
#include "store/types.hpp"
#include "webhook/sealed_secret.hpp"

namespace store {

struct Target {
  WebhookId webhook = 0;
  std::string url;
  std::optional<webhook::SealedSecret> secret;
};

/// From the columns webhook_id, url, secreto_clave and secreto_sellado, the last one in hexadecimal.
Target read_target(const Row& row);

}  // namespace store
