#include "lib/store/notifications/rejection.hpp"

#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr std::size_t longest_reason = 500;

constexpr std::string_view lock_pending = R"sql(
  SELECT id FROM notificaciones_pendientes WHERE id = ? AND estado = 'pendiente' FOR UPDATE SKIP LOCKED)sql";

/// Also changes rows that violate a CHECK. On MariaDB any writer can insert such a row
/// (`SET check_constraint_checks = 0`), and every later UPDATE of the row would fail. MySQL treats the SET
/// STATEMENT as a comment: there such rows exist only where a DBA has made a CHECK NOT ENFORCED, and then the
/// UPDATE passes.
constexpr std::string_view reject = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0, innodb_lock_wait_timeout = 0 FOR */
  UPDATE notificaciones_pendientes
  SET estado = 'rechazada', error = ?, terminada_en = UTC_TIMESTAMP(3), relleno = NULL
  WHERE id = ? AND estado = 'pendiente')sql";
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

bool reject_if_free(Session& session, NotificationId id, std::string_view reason) {
  return transaction(session, [&] {
    return !session.query(lock_pending, id).empty() && reject_notification(session, id, reason);
  });
}

}  // namespace store
