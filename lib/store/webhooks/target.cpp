#include "store/webhooks/target.hpp"

#include "webhook/crypto.hpp"

namespace store {

Target read_target(const Row& row) {
  Target target{row.integer("webhook_id"), row.text("url"), {}};
  if (const auto key = row.optional_text("secreto_clave"))
    target.secret = {*key, webhook::crypto::from_hex(row.text("secreto_sellado")).value()};
  return target;
}

}  // namespace store
