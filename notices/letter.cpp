#include "notices/letter.hpp"

#include <algorithm>

#include "lib/contacts/codes.hpp"
#include "notices/digest.hpp"
#include "notices/texts.hpp"

namespace notices {

namespace {

using mail::Message;

constexpr std::string_view portal_path = "/apientidades/portal/";
constexpr std::string_view contacts_page = "#/avisos";
constexpr std::string_view of_canaries = "En Canarias es una hora menos que en la península.";

bool says_an_hour(const mail::Paragraph& paragraph) {
  return paragraph.text.find("hora peninsular") != std::string::npos;
}

std::string portal_of(const config::Settings& settings) {
  return settings.api.address.empty() ? "" : settings.api.address + std::string(portal_path);
}

std::string unsubscribe_link(const store::Mail& mail, const config::Settings& settings,
                             const webhook::KeyRing& keys, platform::UtcTime now) {
  if (settings.api.address.empty()) return {};
  return settings.api.address + std::string(contacts::unsubscribe_target) +
         contacts::unsubscribe_token(keys, mail.contact, mail.address, now + contacts::unsubscribe_valid);
}

std::string service_of(const config::Settings& settings) {
  return "el servicio de avisos" + (settings.contact.name.empty() ? "" : " de " + settings.contact.name);
}

void add_operator(Message& message, const config::Settings& settings) {
  if (!settings.contact.email.empty())
    message.body.push_back({"Operador del servicio: " + settings.contact.email + "."});
}

/// How the person reaches the operator, and ends the mails.
void add_footer(Message& message, const store::Mail& mail, const config::Settings& settings) {
  const auto portal = portal_of(settings);
  if (std::ranges::any_of(message.body, says_an_hour)) message.body.push_back({std::string(of_canaries)});
  message.body.push_back({"Recibe este mensaje porque esta dirección está entre los contactos de «" +
                              mail.entity_name +
                              "». Para elegir qué alertas recibe, en el portal, «Alertas por correo»" +
                              (portal.empty() ? "." : ":"),
                          portal.empty() ? "" : portal + std::string(contacts_page)});
  if (!message.unsubscribe.empty())
    message.body.push_back({"Para no recibir más, sin entrar en el portal:", message.unsubscribe});
  add_operator(message, settings);
}

void write_code(Message& message, const store::Mail& mail, const config::Settings& settings,
                const webhook::KeyRing& keys) {
  const auto issued = mail.code_issued.value();
  message.subject = "Código para confirmar su dirección de correo";
  message.body = {
      {"Le escribe " + service_of(settings) +
       ", que envía de forma automática los avisos de una evaluación a los sistemas informáticos de las "
       "organizaciones que participan en ella."},
      {"«" + mail.entity_name +
       "» ha pedido que se escriba a esta dirección cuando esos envíos fallen. Antes hay que confirmarla. Si "
       "está de acuerdo, escriba este código en el portal del servicio, en «Alertas por correo», o dígaselo "
       "a quien se lo haya pedido en su organización:"},
      {contacts::confirmation_code(keys, {mail.contact, mail.address, issued}), {}, true},
      {"El código vale hasta el " + spanish_time(issued + contacts::code_valid) + ". " +
           std::string(of_canaries),
       portal_of(settings).empty() ? "" : portal_of(settings) + std::string(contacts_page)},
      {"Si no sabe de qué se trata, no haga nada: sin el código no se enviará ninguna alerta a esta "
       "dirección."}};
  add_operator(message, settings);
}

/// Names the deactivation, if one of them is.
std::string several_subject(const store::Mail& mail, const config::Settings& settings) {
  const auto count = mail.notices.size();
  const auto found = std::ranges::find(mail.notices, name(contacts::Kind::deactivated), &store::Notice::kind);
  if (found == mail.notices.end()) return std::to_string(count) + " alertas sobre sus webhooks";
  const auto title = text_of(*found, portal_of(settings)).title;
  return title + (count == 2 ? ", y otra alerta" : ", y " + std::to_string(count - 1) + " alertas más");
}

void write_notices(Message& message, const store::Mail& mail, const config::Settings& settings) {
  const bool several = mail.notices.size() > 1;
  message.body.push_back(
      {"Alerta automática que envía " + service_of(settings) + " para «" + mail.entity_name + "»."});
  for (const auto& notice : mail.notices) {
    auto [title, body] = text_of(notice, portal_of(settings));
    message.subject = title;
    message.body.push_back({title, {}, true});
    for (auto& paragraph : body)
      if (!paragraph.text.empty()) message.body.push_back(std::move(paragraph));
  }
  if (several) message.subject = several_subject(mail, settings);
}

}  // namespace

Message write_letter(const store::Mail& mail, const config::Settings& settings, const webhook::KeyRing& keys,
                     platform::UtcTime now) {
  Message message{.from = settings.mail.from,
                  .from_name = settings.contact.name,
                  .reply_to = settings.mail.reply_to,
                  .to = mail.address,
                  .subject = {},
                  .date = now,
                  .id = mail.id,
                  .body = {}};
  if (mail.contact.number() == store::operator_contact) {
    message.to = settings.mail.operator_address;
    write_digest(message, mail.notices.back());
  } else if (mail.notices.front().kind == store::code_notice) {
    write_code(message, mail, settings, keys);
  } else {
    message.unsubscribe = unsubscribe_link(mail, settings, keys, now);
    write_notices(message, mail, settings);
    add_footer(message, mail, settings);
  }
  return message;
}

}  // namespace notices
