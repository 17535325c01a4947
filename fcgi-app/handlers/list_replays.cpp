#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/page.hpp"
#include "lib/store/replays/replays.hpp"

namespace api {
namespace {

void write_replay(json::Writer& writer, const store::ReplayProgress& progress) {
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  writer.begin_object();
  writer.member("id", progress.replay.id);
  writer.member("webhook", progress.webhook);
  writer.member("entrega", progress.delivery);
  writer.member("evento", progress.event);
  writer.member("estado", progress.replay.state);
  writer.member("candidatas", count(progress.candidates));
  writer.member("reenviadas", count(progress.replayed));
  writer.member("entregadas", count(progress.delivered));
  writer.member("fallidas", count(progress.failed));
  writer.member("porReintentar", count(progress.retrying));
  writer.member("ultimoError", progress.error);
  writer.member("pedido", progress.asked);
  writer.member("terminado", progress.ended);
  writer.end_object();
}

}  // namespace

Response list_replays(const Call& call) {
  const Query query(call.query, {"limite", "cursor"});
  const auto request = read_page_request(call, query, "reenvios " + to_string(call.caller.id));
  const auto before = request.before ? std::optional<store::ReplayId>(*request.before) : std::nullopt;
  const auto page = store::read_replay_page(call.session, call.caller.id, request.limit, before);
  json::Writer writer;
  writer.begin_object();
  writer.name("reenvios");
  writer.begin_array();
  for (const auto& replay : page.replays) write_replay(writer, replay);
  writer.end_array();
  return page_response(writer, call, query, request,
                       page.next ? std::optional(page.next->number()) : std::nullopt);
}

}  // namespace api
