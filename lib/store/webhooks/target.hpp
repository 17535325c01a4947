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

/// From columns `webhook_id`, `url`, `secreto_clave` and, in hex, `secreto_sellado`.
Target read_target(const Row& row);

/// SQL text: what read_target reads, of the table `w`.
#define STORE_TARGET_COLUMNS "w.id, w.url, w.secreto_clave, HEX(w.secreto_sellado)"
inline constexpr std::size_t target_columns = 4;
/// From STORE_TARGET_COLUMNS, beginning at `column`.
Target read_target(const Row& row, std::size_t column);

}  // namespace store
