// Implements resend_notice() and resend_refused() of lib/store/notices/notices.hpp.
#include "lib/store/notices/notices.hpp"
#include "lib/store/notices/recipient.hpp"

namespace store {

namespace {

/// As a mail of its own that is tried again: so it waits for no other, and nothing discards it as ended.
constexpr std::string_view send_again = R"sql(
  UPDATE avisos SET estado = 'enviando', mensaje = ?, enviado_en = NULL, intentos = 0, error = '',
    creado_en = UTC_TIMESTAMP(3), proximo_intento = UTC_TIMESTAMP(3)
  WHERE id = ? AND estado <> 'enviando')sql";
constexpr std::string_view lift_refusal = R"sql(
  UPDATE contactos SET rechazado_en = NULL, rechazo = NULL WHERE id = ?)sql";
constexpr std::string_view notice_by_id = R"sql(
  SELECT id, contacto_id, entidad_id, webhook_id, tipo, episodio, datos, CAST(creado_en AS CHAR) AS creado_en
  FROM avisos WHERE id = ?)sql";

constexpr std::string_view renew_refused = R"sql(
  UPDATE avisos a JOIN contactos c ON c.id = a.contacto_id
  SET a.estado = 'pendiente', a.mensaje = NULL, a.intentos = 0, a.error = '', a.creado_en = UTC_TIMESTAMP(3),
    a.proximo_intento = UTC_TIMESTAMP(3)
  WHERE a.estado = 'fallido' AND a.creado_en > UTC_TIMESTAMP(3) - INTERVAL 7 DAY AND c.rechazado_en IS NOT NULL)sql";
constexpr std::string_view lift_refusals = R"sql(
  UPDATE contactos SET rechazado_en = NULL, rechazo = NULL WHERE rechazado_en IS NOT NULL)sql";

}  // namespace

Resent resend_notice(Session& session, NoticeId id) {
  const auto rows = session.query(notice_by_id, id);
  if (rows.empty()) return Resent::unwanted;
  const ContactId contact = rows.front().integer("contacto_id");
  session.update(lift_refusal, contact);
  if (!is_wanted(find_recipient(session, contact), read_notice(rows.front()))) return Resent::unwanted;
  return session.update(send_again, new_mail_id(id), id) == 0 ? Resent::under_way : Resent::done;
}

RefusalsLifted resend_refused(Session& session) {
  const auto notices = session.update(renew_refused);
  return {session.update(lift_refusals), notices};
}

}  // namespace store
