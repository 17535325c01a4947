#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/http/query.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/store/deliveries/statistics.hpp"

namespace api {

using json::Object;

Response show_statistics(const Call& call) {
  const Query query(call.query, {"ventana"});
  const auto window = query.one_of("ventana", {"24h", "7d"}).value_or("24h");
  const auto length = window == "7d" ? std::chrono::days(7) : std::chrono::days(1);
  const auto found = store::read_statistics(call.session, own_webhook(call).id, length);
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  return json_response(200, Object{{"ventana", window},
                                   {"entregadas", count(found.delivered)},
                                   {"fallidas", count(found.failed)},
                                   {"pendientes", count(found.pending)},
                                   {"retenidas", count(found.held)},
                                   {"intentosFallidos", count(found.failed_attempts)},
                                   {"p50Ms", found.median_ms},
                                   {"p95Ms", found.percentile95_ms},
                                   {"exacto", found.exact}});
}

}  // namespace api
