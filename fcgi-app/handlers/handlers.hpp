// The operations of the API. They throw HttpError, webhook::InvalidRequest and the store's exceptions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi-app/http/http.hpp"
#include "lib/config/config.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/webhooks/webhooks.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace api {

/// The segments of the request's path where its route has `{…}`, in order, unchecked.
using PathParameters = std::array<std::string_view, 2>;

/// An authenticated request to a known route, and what its handler needs.
struct Call {
  const store::Caller& caller;
  PathParameters parameters;
  std::string_view query;  // the target's text after `?`
  std::string_view body;
  store::Session& session;
  const webhook::KeyRing& keys;
  const std::vector<config::HostOverride>& overrides;
  const config::LimitSettings& limits;
  platform::Milliseconds disable_after;  // delivery.disable_after
  const Preconditions& preconditions;
  const std::optional<std::string>& idempotency_key;        // the header's lines, joined
  const std::vector<platform::IpNetwork>& hidden_networks;  // addresses in these are shown to no entity
  const config::ContactSettings& contact;
  bool sends_mail;  // mail.server is set
};

using Handler = Response (*)(const Call&);

Response show_entity(const Call& call);             // GET /entidad
Response list_contacts(const Call& call);           // GET /entidad/contactos
Response replace_contacts(const Call& call);        // PUT /entidad/contactos
Response ask_contact_code(const Call& call);        // POST /entidad/contactos/{numero}/codigo
Response confirm_contact(const Call& call);         // POST /entidad/contactos/{numero}/confirmacion
Response list_activity(const Call& call);           // GET /actividad
Response register_webhook(const Call& call);        // POST /webhooks
Response list_webhooks(const Call& call);           // GET /webhooks
Response delete_webhook(const Call& call);          // DELETE /webhooks/{id}
Response show_webhook(const Call& call);            // GET /webhooks/{id}
Response change_webhook(const Call& call);          // PATCH /webhooks/{id}
Response change_secret(const Call& call);           // PUT /webhooks/{id}/secreto
Response end_grace(const Call& call);               // DELETE /webhooks/{id}/secreto/anterior
Response list_events(const Call& call);             // GET /webhooks/eventos
Response test_event(const Call& call);              // POST /webhooks/test
Response test_webhook(const Call& call);            // POST /webhooks/{id}/prueba
Response list_deliveries(const Call& call);         // GET /webhooks/{id}/entregas
Response list_entity_deliveries(const Call& call);  // GET /entregas
Response show_delivery(const Call& call);           // GET /webhooks/{id}/entregas/{entrega}
Response replay_delivery(const Call& call);         // POST /webhooks/{id}/entregas/{entrega}/reenvio
Response replay_deliveries(const Call& call);       // POST /webhooks/{id}/reenvios
Response list_replays(const Call& call);            // GET /reenvios
Response show_replay(const Call& call);             // GET /webhooks/{id}/reenvios/{reenvio}
Response show_statistics(const Call& call);         // GET /webhooks/{id}/estadisticas
Response stop_replay(const Call& call);             // DELETE /webhooks/{id}/reenvios/{reenvio}
Response ask_diagnosis(const Call& call);           // POST /webhooks/{id}/diagnostico
Response show_diagnosis(const Call& call);          // GET /webhooks/{id}/diagnostico

}  // namespace api
