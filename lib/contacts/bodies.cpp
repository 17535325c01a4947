#include "lib/contacts/bodies.hpp"

#include <algorithm>
#include <optional>

#include "lib/text/email_address.hpp"
#include "lib/text/text.hpp"

namespace contacts {

namespace {

using webhook::InvalidRequest;

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// False for an address of four numbers, which is no name: the last label has no letter.
bool has_name_with_dot(std::string_view domain) {
  const auto dot = domain.rfind('.');
  return dot != std::string_view::npos && std::ranges::any_of(domain.substr(dot), text::is_letter);
}

std::string every_kind() {
  std::string text;
  for (const Kind kind : all_kinds()) text.append(text.empty() ? "" : ", ").append(name(kind));
  return text;
}

std::string checked_address(const json::Value& contact) {
  const json::Value* value = contact.find("correo");
  if (value == nullptr || value->string() == nullptr || value->string()->empty())
    throw InvalidRequest("correo: indique la dirección de cada contacto");
  return read_address(*value->string());
}

std::optional<KindSet> checked_kinds(const json::Value& contact) {
  const json::Value* value = contact.find("avisos");
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->array() == nullptr) throw InvalidRequest("avisos: debe ser una lista de clases de alerta");
  KindSet kinds;
  for (const auto& element : *value->array()) {
    const auto kind = element.string() == nullptr ? std::nullopt : find_kind(*element.string());
    if (!kind) throw InvalidRequest("avisos: las clases de alerta son " + every_kind());
    kinds.insert(*kind);
  }
  return kinds;
}

WantedContact checked_contact(const json::Value& contact) {
  const std::string rule = "contactos: cada contacto es un objeto con correo y avisos, y nada más";
  if (contact.object() == nullptr) throw InvalidRequest(rule);
  for (const auto& [name, value] : *contact.object())
    if (name != "correo" && name != "avisos") throw InvalidRequest(rule);
  // A braced list is evaluated from left to right, in the order of the rules.
  return {checked_address(contact), checked_kinds(contact)};
}

}  // namespace

std::string read_address(std::string_view text) {
  if (!is_ascii(text))
    throw InvalidRequest(
        "correo: solo se admiten direcciones con letras sin tilde y sin ñ: indique otra dirección de esa "
        "persona");
  const auto domain = text.substr(std::min(text.find('@'), text.size()));
  if (!text::is_email_address(text) || !has_name_with_dot(domain))
    throw InvalidRequest("correo: no es una dirección de correo completa, como avisos@ejemplo.es");
  return std::string(text.substr(0, text.size() - domain.size())) + text::lower(domain);
}

std::vector<WantedContact> parse_contacts(std::string_view body) {
  static_assert(max_contacts_per_entity == 5, "a message says it");
  const json::Value fields = webhook::parse_object(body);
  for (const auto& [name, value] : *fields.object())
    if (name != "contactos") throw InvalidRequest("Solo se admite contactos");
  const json::Value* list = fields.find("contactos");
  if (list == nullptr || list->array() == nullptr)
    throw InvalidRequest("contactos: debe ser la lista de todos los contactos, que puede estar vacía");
  if (list->array()->size() > max_contacts_per_entity) throw InvalidRequest("Máximo 5 contactos");
  std::vector<WantedContact> wanted;
  for (const auto& element : *list->array()) {
    auto contact = checked_contact(element);
    const auto is_same = [&](const WantedContact& other) {
      return text::equal_ignoring_case(other.address, contact.address);
    };
    if (std::ranges::any_of(wanted, is_same)) throw InvalidRequest("contactos: hay una dirección repetida");
    wanted.push_back(std::move(contact));
  }
  return wanted;
}

std::string parse_confirmation(std::string_view body) {
  const json::Value fields = webhook::parse_object(body);
  for (const auto& [name, value] : *fields.object())
    if (name != "codigo") throw InvalidRequest("Solo se admite codigo");
  const json::Value* code = fields.find("codigo");
  if (code == nullptr || code->string() == nullptr || !text::has_shape(*code->string(), "000000"))
    throw InvalidRequest("codigo: debe ser una cadena con las seis cifras del correo");
  return *code->string();
}

}  // namespace contacts
