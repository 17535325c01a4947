#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"
#include "fcgi-app/rate_limit.hpp"
#include "lib/store/replays/replays.hpp"
#include "lib/webhook/request_bodies.hpp"

namespace api {
namespace {

using json::Object;

NotFound no_such_replay() { return NotFound("No existe ningún reenvío con ese identificador en el webhook"); }

store::ReplayProgress own_replay(const Call& call, store::WebhookId webhook) {
  const std::optional<store::ReplayId> id = parse_id(call.parameters[1]);
  const auto found = id ? store::find_replay(call.session, webhook, *id) : std::nullopt;
  if (!found) throw no_such_replay();
  return *found;
}

Response progress_response(const store::ReplayProgress& progress) {
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  return json_response(200, Object{{"id", progress.replay.id},
                                   {"estado", progress.replay.state},
                                   {"candidatas", count(progress.candidates)},
                                   {"reenviadas", count(progress.replayed)},
                                   {"entregadas", count(progress.delivered)},
                                   {"fallidas", count(progress.failed)},
                                   {"porReintentar", count(progress.retrying)}});
}

Response simulated(const store::ReplayCount& candidates) {
  return json_response(
      200, Object{{"candidatas", static_cast<std::int64_t>(candidates.count)}, {"exacto", candidates.exact}});
}

/// Returns 202, or throws the reason for the refusal.
Response replay_response(const Call& call, const store::AskedReplay& asked) {
  using enum store::ReplayAsked;
  switch (asked.result) {
    case done:
      break;
    case not_found:
      throw NotFound("No existe ninguna entrega con ese identificador en el webhook");
    case inactive:
      throw inactive_webhook();
    case held:
      throw Conflict("La entrega está retenida y se enviará en cuanto sea posible");
    case cancelled:
      throw Conflict("La entrega se canceló y no se puede reenviar");
    case expired:
      throw Conflict("La notificación ha caducado y no se puede reenviar");
    case in_flight:
      throw Conflict("La entrega se está enviando en este momento: consúltela antes de pedir que se reenvíe");
    case running:
      throw Conflict("El webhook ya tiene en marcha el reenvío " + to_string(asked.replay.id) +
                     ": espere a que termine o deténgalo con DELETE");
  }
  auto response = json_response(
      202, Object{{"message", "El reenvío está en la cola"},
                  {"reenvio", Object{{"id", asked.replay.id}, {"estado", asked.replay.state}}}});
  if (const auto& quota = asked.quota)
    response.headers = rate_limit(quota->quota, quota->left, quota->retry_after_s, call.limits);
  return response;
}

}  // namespace

Response replay_delivery(const Call& call) {
  const auto webhook = own_webhook(call).id;
  const store::DeliveryId delivery = parse_id(call.parameters[1]).value_or(0);
  return replay_response(call, store::ask_replay(call.session, {call.caller.id, call.caller.token}, webhook,
                                                 delivery, call.limits.replayed));
}

Response replay_deliveries(const Call& call) {
  const auto request = webhook::parse_replay(call.body);
  const auto webhook = own_webhook(call).id;
  const auto events = request.events ? std::optional(request.events->joined()) : std::nullopt;
  const store::ReplayRange range{request.since, request.until, events, request.failed, request.delivered};
  const auto& limits = call.limits;
  if (request.simulate)
    return simulated(
        store::simulate_replay(call.session, call.caller.id, webhook, range, limits.replay_requests));
  return replay_response(call, store::ask_replay(call.session, {call.caller.id, call.caller.token}, webhook,
                                                 range, limits.replayed, limits.replay_requests));
}

Response show_replay(const Call& call) { return progress_response(own_replay(call, own_webhook(call).id)); }

Response stop_replay(const Call& call) {
  const auto webhook = own_webhook(call).id;
  const auto found = own_replay(call, webhook);
  store::cancel_replay(call.session, store::Author{call.caller.id, call.caller.token}, webhook,
                       found.replay.id);
  return progress_response(own_replay(call, webhook));
}

}  // namespace api
