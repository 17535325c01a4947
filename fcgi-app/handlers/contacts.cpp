#include <algorithm>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/own_webhook.hpp"
#include "fcgi-app/handlers/webhook_json.hpp"
#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/response.hpp"
#include "lib/contacts/bodies.hpp"
#include "lib/store/contacts/confirmation.hpp"
#include "lib/store/contacts/contacts.hpp"

namespace api {
namespace {

using json::Object;

json::Array names_of(const contacts::KindSet& kinds) {
  json::Array names;
  for (const auto kind : kinds.kinds()) names.emplace_back(contacts::name(kind));
  return names;
}

Object shown(const store::Contact& contact) {
  return {{"numero", contact.number},
          {"correo", contact.address},
          {"avisos", names_of(contact.kinds)},
          {"fechaAlta", time_or_null(contact.added)},
          {"confirmado", time_or_null(contact.confirmed)},
          {"codigoHasta", time_or_null(contact.code_ends)},
          {"intentos", contact.code_ends ? std::optional(contact.tries_left) : std::nullopt},
          {"rechazado", time_or_null(contact.refused)}};
}

Response shown(const Call& call, const std::vector<store::Contact>& all) {
  json::Array list;
  for (const auto& contact : all) list.emplace_back(shown(contact));
  return json_response(200, Object{{"contactos", std::move(list)}, {"operadorEnviaCorreo", call.sends_mail}});
}

store::Author author(const Call& call) { return {call.caller.id, call.caller.token}; }

NotFound no_such_contact() { return NotFound("La entidad no tiene ningún contacto con ese número"); }

std::int64_t own_number(const Call& call) {
  const auto number = parse_id(call.parameters[0]);
  if (!number || *number > store::max_contacts_per_entity) throw no_such_contact();
  return *number;
}

}  // namespace

Response list_contacts(const Call& call) {
  return shown(call, store::list_contacts(call.session, call.caller.id));
}

Response replace_contacts(const Call& call) {
  const auto wanted = contacts::parse_contacts(call.body);
  return shown(
      call, store::replace_contacts(call.session, author(call), wanted,
                                    {call.limits.registrations, call.limits.contact_codes, call.sends_mail}));
}

Response ask_contact_code(const Call& call) {
  const auto number = own_number(call);
  if (!call.sends_mail) {
    const auto own = store::list_contacts(call.session, call.caller.id);
    if (std::ranges::find(own, number, &store::Contact::number) == own.end()) throw no_such_contact();
    throw Conflict("El operador del servicio no envía correo, así que no puede enviar ningún código");
  }
  switch (store::ask_contact_code(call.session, author(call), number, call.limits.contact_codes)) {
    case store::CodeAsked::not_found:
      throw no_such_contact();
    case store::CodeAsked::confirmed:
      throw Conflict("El contacto ya está confirmado");
    case store::CodeAsked::done:
      break;
  }
  return message_response(202, "Se enviará un código nuevo a la dirección del contacto; vale un día");
}

Response confirm_contact(const Call& call) {
  using enum store::Confirmation::Result;
  const auto code = contacts::parse_confirmation(call.body);
  const auto confirmation =
      store::confirm_contact(call.session, author(call), own_number(call), code, call.keys);
  switch (confirmation.result) {
    case not_found:
      throw no_such_contact();
    case wrong:
      throw BadRequest("codigo: el código no es correcto. Intentos restantes: " +
                       std::to_string(confirmation.tries_left));
    case no_code:
      throw Conflict("El contacto no tiene ningún código en vigor: pida uno nuevo con POST …/codigo");
    case done:
      break;
  }
  return message_response(200, "El contacto está confirmado y recibirá las alertas que ha elegido");
}

}  // namespace api
