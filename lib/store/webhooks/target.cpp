#include "store/webhooks/target.hpp"

#include "webhook/crypto.hpp"

namespace store {

Target read_target(const Row& row, std::size_t column) {
  Target target{row.integer(column), row.text(column + 1), {}};
  if (!row.null(column + 2)) {
    target.secret = {row.text(column + 2), webhook::crypto::from_hex(row.text(column + 3)).value()};
  }
  return target;
}

}  // namespace store
