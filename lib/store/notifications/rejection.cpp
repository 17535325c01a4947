#include "lib/store/notifications/rejection.hpp"

#include "lib/json/json.hpp"
#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr std::size_t longest_reason = 500;

/// Also changes rows that violate a CHECK. On MariaDB any writer can insert such a row
/// (`SET check_constraint_checks = 0`), and every later UPDATE of the row would fail. MySQL treats the SET
/// STATEMENT as a comment: there such rows exist only where a DBA has made a CHECK NOT ENFORCED, and then the
/// UPDATE passes.
constexpr std::string_view reject = R"sql(
  /*M! SET STATEMENT check_constraint_checks = 0, innodb_lock_wait_timeout = 0 FOR */
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', motivo VARCHAR(500) CHARACTER SET utf8mb4 PATH '$[1]')) j
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = j.id
  SET n.estado = 'rechazada', n.error = j.motivo, n.terminada_en = UTC_TIMESTAMP(3), n.relleno = NULL
  WHERE n.estado = 'pendiente')sql";

}  // namespace

std::string refusal_text(const Refused& refusal) {
  std::string_view message = refusal.what();
  constexpr std::string_view prefix = "database ";
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  const auto reason = "fila: la base de datos la rechaza: " + text::one_line(message);
  return std::string(text::cut(reason, longest_reason));
}

std::uint64_t reject_notifications(Session& session, const std::vector<RejectedNotification>& rejected) {
  json::Array rows;
  for (const auto& [id, reason] : rejected) rows.emplace_back(json::Array{id.number(), reason});
  const std::string text = json::dump(rows);
  return transaction(session, [&] { return session.update(reject, text); });
}

}  // namespace store
