#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/http/response.hpp"
#include "fcgi-app/rate_limit.hpp"
#include "lib/store/entities/tokens.hpp"

namespace api {
namespace {

using json::Object;

json::Value text_or_null(const std::string& text) { return text.empty() ? json::Value() : json::Value(text); }

Object shown(const LimitNow& limit) {
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const auto seconds = [](std::optional<unsigned> s) {
    return s ? std::optional(static_cast<std::int64_t>(*s)) : std::nullopt;
  };
  return {{"nombre", limit.name},
          {"maximo", count(limit.limit)},
          {"queda", count(limit.left)},
          {"ventanaSegundos", seconds(limit.window_s)},
          {"masEnSegundos", seconds(limit.more_s)}};
}

Object shown_token(const Call& call) {
  const auto token = store::find_own_token(call.session, call.caller.token);
  return {{"etiqueta", token ? token->label : ""},
          {"caduca", time_or_null(token ? token->expires : std::nullopt)},
          {"soloLectura", call.caller.read_only}};
}

}  // namespace

Response show_entity(const Call& call) {
  json::Array limits;
  for (const auto& limit : read_limits(call.session, call.caller, call.limits))
    limits.emplace_back(shown(limit));
  return json_response(200, Object{{"id", call.caller.id},
                                   {"nombre", call.caller.name},
                                   {"token", shown_token(call)},
                                   {"limites", std::move(limits)},
                                   {"contacto", Object{{"correo", text_or_null(call.contact.email)},
                                                       {"telefono", text_or_null(call.contact.phone)},
                                                       {"pagina", text_or_null(call.contact.page)}}}});
}

}  // namespace api
