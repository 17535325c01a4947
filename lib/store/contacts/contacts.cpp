#include "lib/store/contacts/contacts.hpp"

#include <algorithm>
#include <array>

#include "lib/json/json.hpp"
#include "lib/store/contacts/contact_row.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr std::string_view of_entity = " FROM contactos WHERE entidad_id = ? ORDER BY plaza";
constexpr std::string_view contacts_of_entity = joined<select_contact, of_entity>;
constexpr std::string_view and_refusal = ", rechazo FROM contactos ";
constexpr std::string_view of_one_or_all = "WHERE ? IS NULL OR entidad_id = ? ORDER BY entidad_id, plaza";
constexpr std::string_view contacts_of_one_or_all = joined<select_contact, and_refusal, of_one_or_all>;

constexpr std::string_view insert_with_code = R"sql(
  INSERT INTO contactos (entidad_id, plaza, correo, avisos, codigo_emitido)
  VALUES (?, ?, ?, ?, IF(?, UTC_TIMESTAMP(3), NULL)))sql";
constexpr std::string_view insert_confirmed = R"sql(
  INSERT INTO contactos (entidad_id, plaza, correo, avisos, confirmado_en)
  SELECT id, ?, ?, ?, UTC_TIMESTAMP(3) FROM entidades WHERE id = ?)sql";
constexpr std::string_view set_kinds = R"sql(
  UPDATE contactos SET avisos = ? WHERE id = ?)sql";
constexpr std::string_view confirm_again = R"sql(
  UPDATE contactos
  SET avisos = ?, confirmado_en = COALESCE(confirmado_en, UTC_TIMESTAMP(3)), codigo_emitido = NULL, codigo_intentos = 0,
    rechazado_en = NULL, rechazo = NULL
  WHERE id = ?)sql";
constexpr std::string_view delete_contact = R"sql(
  DELETE FROM contactos WHERE id = ?)sql";
constexpr std::string_view delete_address = R"sql(
  DELETE FROM contactos WHERE entidad_id = ? AND correo = ?)sql";

/// The lowest number that no contact has; 0: all have one.
std::int64_t free_number(const std::vector<Contact>& contacts) {
  for (std::int64_t number = 1; number <= max_contacts_per_entity; ++number)
    if (std::ranges::find(contacts, number, &Contact::number) == contacts.end()) return number;
  return 0;
}

/// A person who says nothing wants to know.
contacts::KindSet kinds_of(const WantedContact& added) {
  return added.kinds.value_or(contacts::KindSet::all());
}

struct Difference {
  std::vector<Contact> removed;
  std::vector<Contact> changed;  // with the kinds that are wanted
  std::vector<Contact> added;    // with the numbers and kinds that are wanted
  bool empty() const { return removed.empty() && changed.empty() && added.empty(); }
};

Difference difference(const std::vector<Contact>& before, const std::vector<WantedContact>& wanted) {
  Difference result;
  std::vector<Contact> after;
  for (const auto& contact : before) {
    const auto kept = std::ranges::find(wanted, contact.address, &WantedContact::address);
    (kept == wanted.end() ? result.removed : after).push_back(contact);
    if (kept == wanted.end() || kept->kinds.value_or(contact.kinds) == contact.kinds) continue;
    result.changed.push_back(contact);
    result.changed.back().kinds = *kept->kinds;
  }
  for (const auto& one : wanted) {
    if (std::ranges::find(before, one.address, &Contact::address) != before.end()) continue;
    Contact contact{};
    contact.number = free_number(after);
    contact.address = one.address;
    contact.kinds = kinds_of(one);
    after.push_back(contact);
    result.added.push_back(contact);
  }
  return result;
}

std::vector<std::string> addresses_of(const std::vector<Contact>& contacts) {
  std::vector<std::string> result;
  for (const auto& contact : contacts) result.push_back(contact.address);
  return result;
}

json::Array audited(const std::vector<Contact>& contacts) {
  json::Array result;
  for (const auto& contact : contacts) result.emplace_back(audited_contact(contact.number, contact.address));
  return result;
}

std::string detail_of(const Difference& change) {
  json::Object detail;
  if (!change.added.empty()) detail.emplace_back("alta", audited(change.added));
  if (!change.changed.empty()) detail.emplace_back("avisos", audited(change.changed));
  if (!change.removed.empty()) detail.emplace_back("baja", audited(change.removed));
  return json::dump(detail);
}

/// Removes first, because a number or an address that is given again must be free.
void write(Session& session, const Author& author, const Difference& change, bool sends_mail) {
  for (const auto& contact : change.removed) session.update(delete_contact, contact.id);
  for (const auto& contact : change.changed) session.update(set_kinds, contact.kinds.joined(), contact.id);
  for (const auto& contact : change.added)
    session.update(insert_with_code, author.entity, contact.number, contact.address, contact.kinds.joined(),
                   sends_mail);
  note_change(session, author, AuditedAction::contacts_changed, {}, detail_of(change));
}

}  // namespace

Contact read_contact(const Row& row) {
  return {row.integer("id"),
          row.integer("entidad_id"),
          row.integer("plaza"),
          row.text("correo"),
          contacts::KindSet::from_joined(row.text("avisos")),
          row.time("fecha_alta"),
          row.optional_time("confirmado_en"),
          row.optional_time("codigo_emitido"),
          row.optional_time("codigo_hasta"),
          row.integer("quedan"),
          row.optional_time("rechazado_en")};
}

std::vector<Contact> list_contacts(Session& session, EntityId entity) {
  std::vector<Contact> result;
  for (const auto& row : session.query(contacts_of_entity, entity)) result.push_back(read_contact(row));
  return result;
}

std::vector<Contact> replace_contacts(Session& session, const Author& author,
                                      const std::vector<WantedContact>& wanted, const ContactPolicy& policy) {
  // The lock of the quotas lets the changes of one entity wait for each other, also on a cluster.
  return transaction_past_duplicates(session, [&] {
    lock_quotas(session, author.entity);
    auto before = list_contacts(session, author.entity);
    const auto change = difference(before, wanted);
    if (change.empty()) return before;
    use_quota(session, Quota::changes, author.entity, policy.changes_per_hour);
    if (policy.sends_mail && !change.added.empty())
      use_codes(session, author.entity, policy.codes_per_day, addresses_of(change.added));
    write(session, author, change, policy.sends_mail);
    return list_contacts(session, author.entity);
  });
}

std::vector<ListedContact> list_all_contacts(Session& session, std::optional<EntityId> entity) {
  std::vector<ListedContact> result;
  for (const auto& row : session.query(contacts_of_one_or_all, entity, entity))
    result.push_back({read_contact(row), row.optional_text("rechazo")});
  return result;
}

ContactAdded add_contact(Session& session, EntityId entity, const WantedContact& wanted) {
  return transaction_past_duplicates(session, [&] {
    lock_quotas(session, entity);
    const auto before = list_contacts(session, entity);
    const auto found = std::ranges::find(before, wanted.address, &Contact::address);
    if (found != before.end()) {
      session.update(confirm_again, kinds_of(wanted).joined(), found->id);
      return ContactAdded::changed;
    }
    const auto number = free_number(before);
    if (number == 0) return ContactAdded::full;
    const auto added =
        session.update(insert_confirmed, number, wanted.address, kinds_of(wanted).joined(), entity);
    return added == 1 ? ContactAdded::added : ContactAdded::no_entity;
  });
}

bool remove_contact(Session& session, EntityId entity, std::string_view address) {
  return session.update(delete_address, entity, address) > 0;
}

std::string audited_contact(std::int64_t number, std::string_view address) {
  constexpr std::size_t longest_domain = 60;
  const auto domain = address.substr(std::min(address.find('@'), address.size()));
  const auto shown = text::cut(domain, longest_domain);
  return std::string(address.substr(0, 1)) + "…" + std::string(shown) +
         (shown.size() < domain.size() ? "…" : "") + " (" + std::to_string(number) + ')';
}

}  // namespace store
