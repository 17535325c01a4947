#include "lib/store/notifications/quarantine.hpp"

#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr std::size_t longest_reason = 500;

constexpr std::string_view lock_pending = R"sql(
  SELECT id FROM notificaciones_pendientes WHERE id = ? AND estado = 'pendiente' FOR UPDATE SKIP LOCKED)sql";

// The next two statements also change rows that violate a CHECK. On MariaDB any writer can insert such a row
// (`SET check_constraint_checks = 0`), and every later UPDATE of the row would fail. MySQL treats the SET
// STATEMENT as a comment: there such rows exist only where a DBA has made a CHECK NOT ENFORCED, and then the
// UPDATE passes.

constexpr std::string_view reject = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0, innodb_lock_wait_timeout = 0 FOR */
  UPDATE notificaciones_pendientes
  SET estado = 'rechazada', error = ?, terminada_en = UTC_TIMESTAMP(3), relleno = NULL
  WHERE id = ? AND estado = 'pendiente')sql";
constexpr std::string_view cancel = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0 FOR */
  UPDATE notificaciones_pendientes
  SET estado = 'cancelada', error = ?, terminada_en = UTC_TIMESTAMP(3), relleno = NULL
  WHERE id = ? AND estado = 'pendiente')sql";

/// `version` lists the versions of this program that have tried the notification, the latest first, as many
/// as the column holds. A version on the list does not try again. If the column kept only one version, two
/// versions that run side by side would replace each other there, and try the notification without end. A
/// version that the column (50 characters) cannot hold whole is left out.
constexpr std::string_view add_to_list = R"sql(
  INSERT INTO notificaciones_apartadas (notificacion_id, estado, error, version, apartada_en)
  VALUES (?, ?, ?, ?, UTC_TIMESTAMP(3))
  ON DUPLICATE KEY UPDATE estado = VALUES(estado), error = VALUES(error), apartada_en = VALUES(apartada_en),
    version = IF(FIND_IN_SET(VALUES(version), version), version,
      REGEXP_REPLACE(LEFT(CONCAT(VALUES(version), ',', version, ','), 51), ',[^,]*$', '')))sql";
constexpr std::string_view remove_from_list = R"sql(
  DELETE FROM notificaciones_apartadas WHERE notificacion_id = ?)sql";

/// Cuts the text to at most `most` bytes, between characters.
std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
  return text;
}

}  // namespace

std::string refusal_text(const Refused& refusal) {
  std::string_view message = refusal.what();
  constexpr std::string_view prefix = "database ";
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  return cut("fila: la base de datos la rechaza: " + text::one_line(message), longest_reason);
}

bool reject_notification(Session& session, NotificationId id, std::string_view reason) {
  return session.update(reject, reason, id) == 1;
}

Rejection reject_or_quarantine(Session& session, NotificationId id, std::string_view reason) {
  return transaction(session, [&] {
    if (session.query(lock_pending, id).empty()) return Rejection::no;
    try {
      reject_notification(session, id, reason);
      end_quarantine(session, id);
      return Rejection::rejected;
    } catch (const Refused&) {  // only the statement failed: the transaction continues
      session.update(add_to_list, id, "rechazada", reason, APIENTIDADES_VERSION);
      return Rejection::quarantined;
    }
  });
}

void cancel_pending(Session& session, NotificationId id, const std::optional<std::string>& reason) try {
  session.update(cancel, reason, id);
  end_quarantine(session, id);
} catch (const Refused& refusal) {
  session.update(add_to_list, id, "cancelada", reason.value_or(refusal_text(refusal)), APIENTIDADES_VERSION);
}

void end_quarantine(Session& session, NotificationId id) { session.update(remove_from_list, id); }

}  // namespace store
