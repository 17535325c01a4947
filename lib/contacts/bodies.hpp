// The request bodies of /entidad/contactos as checked values (web/docs/alertas-por-correo.md).
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/contacts/kinds.hpp"
#include "lib/webhook/request_bodies.hpp"

namespace contacts {

inline constexpr unsigned max_contacts_per_entity = 5;

struct WantedContact {
  std::string address;           // as read_address() returns it
  std::optional<KindSet> kinds;  // unset: as they are; for a new address, every kind
};

/// Returns the address as it is stored: its domain in lower case. Throws webhook::InvalidRequest unless it is
/// a text::is_email_address whose domain is a name with a dot.
std::string read_address(std::string_view text);

/// Reads PUT /entidad/contactos: at most max_contacts_per_entity addresses, which differ not in case alone.
/// Throws webhook::InvalidRequest for the first rule that fails, in the order of
/// web/docs/alertas-por-correo.md#las-reglas.
std::vector<WantedContact> parse_contacts(std::string_view body);

/// Reads POST /entidad/contactos/{numero}/confirmacion: six digits. Throws webhook::InvalidRequest.
std::string parse_confirmation(std::string_view body);

}  // namespace contacts
