// Table `contactos`: the addresses at which the people of an entity want to be told what happens to its
// webhooks (web/docs/alertas-por-correo.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/contacts/bodies.hpp"
#include "lib/contacts/kinds.hpp"
#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

using contacts::max_contacts_per_entity;
using contacts::WantedContact;

struct Contact {
  ContactId id;
  EntityId entity;
  std::int64_t number;  // `plaza`, 1 to max_contacts_per_entity
  std::string address;
  contacts::KindSet kinds;
  UtcTime added;
  std::optional<UtcTime> confirmed;    // unset: it gets no notice
  std::optional<UtcTime> code_issued;  // when the last code was asked for; unset once confirmed
  std::optional<UtcTime> code_ends;    // unset: no code confirms the address now
  std::int64_t tries_left;             // of that code
  std::optional<UtcTime> refused;      // the mail server refuses the address: it gets no notice
};

/// The entity's contacts, by number.
std::vector<Contact> list_contacts(Session& session, EntityId entity);

struct ContactPolicy {
  unsigned changes_per_hour = 0;  // limits.registrations; 0: no limit
  unsigned codes_per_day = 0;     // limits.contact_codes; 0: no limit
  bool sends_mail = true;         // false: a new address gets no code, because no mail can bring it
};
/// Makes `wanted`, as of contacts::parse_contacts, the entity's contacts, and returns
/// them. An address that the entity has keeps its number and its confirmation. Each new one gets a
/// confirmation code, which use_codes() counts. Throws OverQuota, and has then changed no contact.
std::vector<Contact> replace_contacts(Session& session, const Author& author,
                                      const std::vector<WantedContact>& wanted, const ContactPolicy& policy);

/// A contact as the operator sees it.
struct ListedContact {
  Contact contact;
  std::optional<std::string> refusal;  // the mail server's answer
};
/// Lists the contacts of one entity or of all, by entity and number.
std::vector<ListedContact> list_all_contacts(Session& session, std::optional<EntityId> entity = {});

enum class ContactAdded { added, changed, full, no_entity };
/// Adds an address for the operator, who vouches for it: it is confirmed at once. If the entity has the
/// address, confirms it, sets its kinds and forgets that it was refused.
ContactAdded add_contact(Session& session, EntityId entity, const WantedContact& wanted);
/// Returns false when the entity has no such address.
bool remove_contact(Session& session, EntityId entity, std::string_view address);

/// A contact for the audit, which shows little of the address: `m…@ejemplo.es (2)`, with its number, because
/// other addresses of the entity may begin alike.
std::string audited_contact(std::int64_t number, std::string_view address);

}  // namespace store
