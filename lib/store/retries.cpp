#include "lib/store/retries.hpp"

#include <string_view>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/keys.hpp"

namespace store {

namespace {

/// The index is (reintento_de, adelantada, id), so only the rows with one value of `adelantada` are in the
/// order of their ids. Each inner SELECT reads the rows with one of the two values.
constexpr std::string_view some_retries = R"sql(
  SELECT id FROM (
    (SELECT id FROM entregas FORCE INDEX (entregas_por_adelantar)
     WHERE reintento_de = ? AND adelantada = 0 AND id > ? ORDER BY id LIMIT ?)
    UNION ALL
    (SELECT id FROM entregas FORCE INDEX (entregas_por_adelantar)
     WHERE reintento_de = ? AND adelantada = 1 AND id > ? ORDER BY id LIMIT ?)) retries
  ORDER BY id LIMIT ?)sql";

}  // namespace

std::vector<delivery::DeliveryId> find_retries(Session& session, delivery::WebhookId webhook,
                                               delivery::DeliveryId after) {
  return ids_in<delivery::DeliveryId>(
      session.query(some_retries, webhook, after, batch_rows, webhook, after, batch_rows, batch_rows));
}

}  // namespace store
