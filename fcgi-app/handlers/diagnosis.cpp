#include "lib/delivery/diagnosis.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/json/json.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"

namespace api {

using json::Object;

Response ask_diagnosis(const Call& call) {
  const auto asked = store::ask_diagnosis(call.session, {call.caller.id, call.caller.token}, call.caller.name,
                                          own_webhook(call).id, call.limits.diagnostics);
  if (asked.result == store::DiagnosisAsked::not_found) throw no_such_webhook();
  if (asked.result == store::DiagnosisAsked::disabled)
    throw Conflict("El operador ha desactivado el webhook: póngase en contacto con él para diagnosticarlo");
  const auto* message =
      asked.state == "en_curso" ? "El diagnóstico está en marcha" : "El diagnóstico está en la cola";
  return json_response(202, Object{{"message", message}, {"diagnostico", Object{{"estado", asked.state}}}});
}

/// If a diagnosis has failed without findings, because its dispatcher died, shows each check as interrupted.
Response show_diagnosis(const Call& call) {
  const auto found = store::find_diagnosis(call.session, own_webhook(call).id);
  if (!found) throw NotFound("No se ha pedido ningún diagnóstico de ese webhook");
  auto findings = found->findings;
  if (findings.empty())
    findings = found->state == "fallido"
                   ? to_json(delivery::stopped_findings(delivery::DiagnosisStop::interrupted))
                   : "[]";
  const auto started =
      found->started ? std::optional(platform::format_iso8601(*found->started)) : std::nullopt;
  return json_response(
      200, Object{{"estado", found->state}, {"iniciado", started}, {"pruebas", json::parse(findings)}});
}

}  // namespace api
