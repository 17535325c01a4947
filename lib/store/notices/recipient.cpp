#include "lib/store/notices/recipient.hpp"

#include "lib/contacts/codes.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/store/session/datetime.hpp"

namespace store {

namespace {

constexpr std::string_view contact_by_id = R"sql(
  SELECT c.correo, c.avisos, c.confirmado_en IS NOT NULL AS confirmado, c.rechazado_en IS NOT NULL AS rechazado,
    IF(c.codigo_emitido > UTC_TIMESTAMP(3) - INTERVAL ? HOUR, CAST(c.codigo_emitido AS CHAR), NULL) AS codigo_emitido,
    c.entidad_id, t.nombre, t.activa
  FROM contactos c JOIN entidades t ON t.id = c.entidad_id WHERE c.id = ?)sql";

}  // namespace

MailRecipient find_recipient(Session& session, ContactId contact) {
  MailRecipient found;
  found.mail.contact = contact;
  if (contact.number() == operator_contact) {
    found.usable = found.confirmed = true;
    return found;
  }
  const auto rows = session.query(contact_by_id, std::int64_t{contacts::code_valid.count()}, contact);
  if (rows.empty()) return found;
  const auto& row = rows.front();
  found.mail.address = row.text("correo");
  found.mail.entity = row.integer("entidad_id");
  found.mail.entity_name = row.text("nombre");
  found.mail.code_issued = row.optional_time("codigo_emitido");
  found.kinds = contacts::KindSet::from_joined(row.text("avisos"));
  found.usable = row.boolean("activa") && !row.boolean("rechazado");
  found.confirmed = row.boolean("confirmado");
  return found;
}

bool is_wanted(const MailRecipient& to, const Notice& notice) {
  if (!to.usable) return false;
  if (notice.kind == code_notice)
    return !to.confirmed && to.mail.code_issued && notice.episode == format_datetime(*to.mail.code_issued);
  if (notice.kind == digest_notice) return to.mail.contact.number() == operator_contact;
  const auto kind = contacts::find_kind(notice.kind);
  return to.confirmed && kind && to.kinds.contains(*kind);
}

Notice read_notice(const Row& row) {
  return {row.integer("id"),
          row.optional_integer("entidad_id"),
          row.optional_integer("webhook_id"),
          row.text("tipo"),
          row.text("episodio"),
          row.text("datos"),
          row.time("creado_en")};
}

std::string new_mail_id(NoticeId first) {
  constexpr std::size_t random_bytes = 12;
  return crypto::to_hex(crypto::random_bytes(random_bytes)) + '.' + to_string(first);
}

}  // namespace store
