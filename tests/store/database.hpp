// Makes a database for each test, on the server of TEST_DB_SOCKET, and drops it at the end. The server also
// listens on TEST_DB_PORT of localhost, with TLS; TEST_DB_CA is the file of its CA.
#pragma once

#include <optional>
#include <string>

#include "lib/store/backlog/queue.hpp"
#include "lib/store/backlog/queue_scan.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/deliveries/deliveries.hpp"
#include "lib/store/deliveries/results.hpp"
#include "lib/store/entities/entities.hpp"
#include "lib/store/entities/tokens.hpp"
#include "lib/store/maintenance/reconciliation.hpp"
#include "lib/store/notifications/fan_out.hpp"
#include "lib/store/notifications/notifications.hpp"
#include "lib/store/schema/migrations.hpp"
#include "lib/store/webhooks/secrets.hpp"
#include "lib/store/webhooks/webhooks.hpp"

namespace store::testing {

/// The settings of a connection as root. An empty `database`: no default database.
config::DatabaseSettings server(const std::string& database);

/// A variable that `./dev test` sets. Throws std::runtime_error if it is not set.
std::string environment(const char* name);

struct Database {
  Database();  // makes the database and migrates it
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Opens another session, as a second program would.
  Session connect() const { return {server(name), {"root", 30}}; }

  std::string name;
  Session session;
};

/// Returns another session, which has locked the webhook's deliveries in `state` that meet `condition`, and
/// the gaps beside them in the index entregas_por_reclamar.
Session lock_gap(const Database& database, WebhookId webhook, std::string_view state,
                 const std::string& condition = "TRUE");
/// A condition for lock_gap. No delivery is due at this very millisecond, so lock_gap locks no row, but only
/// the gap in which a delivery due now would be inserted.
inline const std::string due_now = "proximo_intento = UTC_TIMESTAMP(3)";

const webhook::KeyRing& keys();

/// Adds the entity, with a webhook subscribed to every event.
Webhook add_webhook(Session& session, EntityId entity, std::optional<std::string> secret = {});

/// Inserts a notification as the evaluation system does.
NotificationId insert_notification(Session& session, EntityId entity,
                                   std::string_view event = "evaluacion.cerrada",
                                   std::string_view data = R"({"evaluacionId": 1, "titulo": "t"})");

/// Executes a file of sql/grants as the client does, which knows DELIMITER.
void execute_grants(Session& session, const std::string& name);

/// SQL text: a table of one column `seq` from 1 to `count`, for MariaDB and for MySQL.
std::string numbers(int count, const std::string& alias = "numeros");

/// How the server would read one table for a statement: texts of EXPLAIN, empty where EXPLAIN has NULL.
struct PlanStep {
  std::string table, access, key, extra;
};
std::vector<PlanStep> explain(Session& session, const std::string& sql);

/// Waits until a session waits for a lock; false if none does within `patience`. `look` is a session that
/// waits for no lock itself. `query`: a LIKE pattern for the waiting statement.
bool wait_for_row_lock(Session& look, platform::Milliseconds patience, std::string_view query = "%");

/// Runs `work`. Returns false if the session has waited for a row lock. Another session must hold that lock
/// until `work` ends, so that a wait lasts 60 s. Without a wait `work` takes less than 30 s, even on a slow
/// machine.
template <class Work>
bool waits_for_no_lock(Session& session, Work&& work) {
  session.execute("SET SESSION innodb_lock_wait_timeout = 60");
  const auto start = platform::monotonic_now();
  work();
  return platform::monotonic_now() - start < std::chrono::seconds(30);
}

/// Rows and index entries that the session has read so far.
std::int64_t rows_read(Session& session);

/// The entities with pending notifications, by id.
std::vector<EntityId> waiting_entities(Session& session);
/// Finds and reads the oldest pending notifications, as the fan-out does.
std::vector<PendingNotification> oldest_pending(Session& session, const std::vector<TakeRequest>& requests);

/// Fans out up to 1,000 pending notifications of each entity to all its webhooks. The deliveries are created
/// in `state`; returns those that are leased.
std::vector<CreatedDelivery> fan_out(Session& session, DeliveryState state = DeliveryState::pending,
                                     const Lease& lease = {77, platform::Milliseconds(60000)});

/// Runs walks of the reconciliation until one changes nothing; returns how many deliveries it changed.
ReconcileWalk::Changed reconcile(Session& session);

/// The result of a successful attempt of a leased delivery.
DeliveryResult delivered(const LeasedDelivery& delivery);
/// The result of a failed attempt; the retry is due after `wait`.
DeliveryResult failed_attempt(const LeasedDelivery& delivery, platform::Milliseconds wait);

}  // namespace store::testing
