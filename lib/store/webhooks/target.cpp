#include "lib/store/webhooks/target.hpp"

#include <utility>

#include "lib/crypto/crypto.hpp"

namespace store {

namespace {

std::optional<webhook::SealedSecret> read_secret(const Row& row, std::string_view key,
                                                 std::string_view sealed) {
  const auto id = row.optional_text(key);
  if (!id) return std::nullopt;
  return webhook::SealedSecret{*id, crypto::from_hex(row.text(sealed)).value()};
}

}  // namespace

Target read_target(const Row& row) {
  Target target{row.integer("webhook_id"), row.text("url"),
                read_secret(row, "secreto_clave", "secreto_sellado"),
                read_secret(row, "secreto_b_clave", "secreto_b_sellado")};
  // Once the columns secreto_b_… are erased, the current secret is in the columns without `_b`, whatever
  // `secreto_vigente` says (lib/store/webhooks/secret_change.hpp).
  if (row.text("secreto_vigente") == "b" && target.previous_secret)
    std::swap(target.secret, target.previous_secret);
  if (!row.boolean("en_gracia")) target.previous_secret.reset();
  return target;
}

}  // namespace store
