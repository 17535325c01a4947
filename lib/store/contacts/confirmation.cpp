#include "lib/store/contacts/confirmation.hpp"

#include <optional>

#include "lib/contacts/codes.hpp"
#include "lib/json/json.hpp"
#include "lib/store/contacts/contact_row.hpp"
#include "lib/store/quotas/quotas.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr std::string_view locked_by_number = " FROM contactos WHERE entidad_id = ? AND plaza = ? FOR UPDATE";
constexpr std::string_view lock_numbered = joined<select_contact, locked_by_number>;

constexpr std::string_view new_code = R"sql(
  UPDATE contactos
  SET confirmado_en = NULL, codigo_emitido = UTC_TIMESTAMP(3), codigo_intentos = 0, rechazado_en = NULL, rechazo = NULL
  WHERE id = ?)sql";
constexpr std::string_view confirm = R"sql(
  UPDATE contactos
  SET confirmado_en = UTC_TIMESTAMP(3), codigo_emitido = NULL, codigo_intentos = 0, rechazado_en = NULL,
    rechazo = NULL
  WHERE id = ?)sql";
constexpr std::string_view count_wrong_try = R"sql(
  UPDATE contactos SET codigo_intentos = codigo_intentos + 1 WHERE id = ?)sql";
constexpr std::string_view told_of_something = R"sql(
  SELECT entidad_id, plaza, correo FROM contactos
  WHERE id = ? AND (avisos <> '' OR confirmado_en IS NOT NULL OR codigo_emitido IS NOT NULL))sql";
constexpr std::string_view want_nothing = R"sql(
  UPDATE contactos SET avisos = '', confirmado_en = NULL, codigo_emitido = NULL, codigo_intentos = 0
  WHERE id = ? AND (avisos <> '' OR confirmado_en IS NOT NULL OR codigo_emitido IS NOT NULL))sql";
constexpr std::string_view refuse = R"sql(
  UPDATE contactos SET rechazado_en = UTC_TIMESTAMP(3), rechazo = ? WHERE id = ? AND rechazado_en IS NULL)sql";

std::optional<Contact> first_contact(const Rows& rows) {
  return rows.empty() ? std::nullopt : std::optional(read_contact(rows.front()));
}

void note(Session& session, const Author& author, const char* what, std::int64_t number,
          std::string_view address, std::optional<UtcTime> code = {}) {
  const auto detail = json::dump(json::Object{{what, audited_contact(number, address)}});
  // Equal entries of an hour share a row: each confirmation, which has a code of its own, has its row.
  const auto same = code ? std::optional(detail + ' ' + platform::format_iso8601(*code)) : std::nullopt;
  note_change(session, author, AuditedAction::contacts_changed, {}, detail, same);
}

/// Requires a transaction.
Confirmation confirm_locked(Session& session, const Author& author, std::int64_t number,
                            std::string_view code, const webhook::KeyRing& keys) {
  using enum Confirmation::Result;
  const auto contact = first_contact(session.query(lock_numbered, author.entity, number));
  if (!contact) return {not_found};
  if (contact->confirmed && !contact->refused) return {done};
  if (!contact->code_ends) return {no_code};
  if (!contacts::is_confirmation_code(keys, {contact->id, contact->address, *contact->code_issued}, code)) {
    session.update(count_wrong_try, contact->id);
    return {wrong, contact->tries_left - 1};
  }
  session.update(confirm, contact->id);
  note(session, author, "confirmado", number, contact->address, contact->code_issued);
  return {done};
}

}  // namespace

CodeAsked ask_contact_code(Session& session, const Author& author, std::int64_t number,
                           unsigned codes_per_day) {
  return transaction_past_duplicates(session, [&] {
    lock_quotas(session, author.entity);
    const auto contact = first_contact(session.query(lock_numbered, author.entity, number));
    if (!contact) return CodeAsked::not_found;
    if (contact->confirmed && !contact->refused) return CodeAsked::confirmed;
    use_codes(session, author.entity, codes_per_day, {contact->address});
    session.update(new_code, contact->id);
    note(session, author, "codigo", number, contact->address);
    return CodeAsked::done;
  });
}

Confirmation confirm_contact(Session& session, const Author& author, std::int64_t number,
                             std::string_view code, const webhook::KeyRing& keys) {
  return transaction(session, [&] { return confirm_locked(session, author, number, code, keys); });
}

bool unsubscribe(Session& session, const contacts::UnsubscribeLink& link, const webhook::KeyRing& keys) {
  return transaction(session, [&] {
    // Read without a lock, so that a link that is used again and again waits for nothing.
    const auto rows = session.query(told_of_something, link.contact);
    if (rows.empty()) return false;
    const auto& row = rows.front();
    if (!contacts::is_for_address(keys, link, row.text("correo"))) return false;
    if (session.update(want_nothing, link.contact) == 0) return false;
    note(session, {row.integer("entidad_id")}, "sinAvisos", row.integer("plaza"), row.text("correo"));
    return true;
  });
}

void mark_refused(Session& session, ContactId id, std::string_view answer) {
  constexpr std::size_t longest = 500;
  session.update(refuse, text::cut(text::one_line(answer), longest), id);
}

}  // namespace store
