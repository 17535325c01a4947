#include "store/webhooks/target.hpp"

#include "webhook/crypto.hpp"

namespace store {

Target read_target(const Row& row) {
  Target target{row.integer("webhook_id"), row.text("url"), {}};
  if (!row.null("secreto_clave")) {
    target.secret = {row.text("secreto_clave"),
                     webhook::crypto::from_hex(row.text("secreto_sellado")).value()};
  }
  return target;
}

Target read_target(const Row& row, std::size_t column) {
  Target target{row.integer(column), row.text(column + 1), {}};
  if (!row.null(column + 2)) {
    target.secret = {row.text(column + 2), webhook::crypto::from_hex(row.text(column + 3)).value()};
  }
  return target;
}

}  // namespace store
