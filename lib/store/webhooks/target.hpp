// The URL and the secrets for a webhook's deliveries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

/// SQL: the columns of `webhooks w` that read_target reads, and entidad_id. The sealed texts are in
/// hexadecimal; en_gracia says whether the previous secret also signs.
inline constexpr std::string_view select_target =
    "SELECT w.id AS webhook_id, w.entidad_id, w.url, w.secreto_clave, HEX(w.secreto_sellado) AS "
    "secreto_sellado,"
    " w.secreto_b_clave, HEX(w.secreto_b_sellado) AS secreto_b_sellado, w.secreto_vigente,"
    " COALESCE(w.secreto_anterior_hasta > UTC_TIMESTAMP(3), FALSE) AS en_gracia";
Target read_target(const Row& row);

}  // namespace store
