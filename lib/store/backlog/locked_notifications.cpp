#include "lib/store/backlog/locked_notifications.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/session/open_transactions.hpp"

namespace store {

namespace {

constexpr std::chrono::seconds waited{60};
/// A dispatcher locks what it works on for some milliseconds.
constexpr std::chrono::milliseconds between_looks{100};

/// ORDER BY begins with `entidad_id` for MySQL, which does not see that it is constant there.
constexpr std::string_view oldest_of_entities = R"sql(
  SELECT n.id, n.entidad_id
  FROM entidades t
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY)
    ON n.id = (SELECT p.id FROM notificaciones_pendientes p FORCE INDEX (notificaciones_por_expandir)
               WHERE p.estado = 'pendiente' AND p.aplazada_hasta IS NULL AND p.entidad_id = t.id
               ORDER BY p.entidad_id, p.id LIMIT 1)
  WHERE n.ocurrida_en < UTC_TIMESTAMP(3) - INTERVAL ? SECOND
  ORDER BY n.ocurrida_en, n.id LIMIT 100)sql";
/// What was for later, and was due before.
constexpr std::string_view longest_due = R"sql(
  SELECT id, entidad_id FROM notificaciones_pendientes FORCE INDEX (notificaciones_por_expandir)
  WHERE estado = 'pendiente' AND aplazada_hasta > '1970-01-01'
    AND aplazada_hasta < UTC_TIMESTAMP(3) - INTERVAL ? SECOND
  ORDER BY estado, aplazada_hasta, entidad_id, id LIMIT 100)sql";

using Notifications = std::vector<NotificationKey>;

/// Removes those that are free, or pending no longer.
void keep_locked(Session& session, Notifications& notifications) {
  std::vector<NotificationId> ids;
  ids.reserve(notifications.size());
  for (const auto& one : notifications) ids.push_back(one.id);
  // `queue status` has a read-only session, in which rows cannot be locked.
  session.execute("SET TRANSACTION READ WRITE");
  const auto free = transaction(session, [&] { return lock_pending(session, ids, LockedBy::row_and_entry); });
  auto locked = find_pending(session, ids);
  for (const auto& one : free) locked.erase(one.id);
  std::erase_if(notifications, [&](const auto& one) { return !locked.contains(one.id); });
}

}  // namespace

std::optional<LockedNotifications> find_locked_notifications(Session& session) {
  Notifications found;
  for (const auto statement : {oldest_of_entities, longest_due}) {
    for (const auto& row : session.query(statement, std::int64_t{waited.count()}))
      found.push_back({row.integer("id"), row.integer("entidad_id")});
  }
  keep_locked(session, found);
  if (found.empty()) return std::nullopt;
  std::this_thread::sleep_for(between_looks);
  keep_locked(session, found);
  if (found.empty()) return std::nullopt;
  return LockedNotifications{found.size(), found.front(), describe_lock_holders(session, waited)};
}

}  // namespace store
