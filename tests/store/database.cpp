#include "tests/store/database.hpp"

#include "lib/delivery/states.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace store::testing {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr)
    throw std::runtime_error(std::string(name) + " is not set: run these tests by `./dev test`");
  return value;
}

config::DatabaseSettings server(const std::string& database) {
  config::DatabaseSettings settings;
  settings.socket = environment("TEST_DB_SOCKET");
  settings.user = "root";
  settings.name = database;
  return settings;
}

namespace {

std::string new_name() {
  static std::atomic<int> count = 0;
  return "prueba_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

/// Adds a trigger that refuses every change of state that is not in `transitions`. A test may still write any
/// state after SET @any_state = 1.
template <class Transitions>
void watch_transitions(Session& session, const std::string& table, const Transitions& transitions) {
  std::string allowed = "''";
  for (const auto& [from, to, actor, when] : transitions) {
    if (from) allowed.append(", '").append(name(*from)).append(">").append(name(to)).append("'");
  }
  session.execute("CREATE TRIGGER " + table + "_transitions BEFORE UPDATE ON " + table +
                  " FOR EACH ROW IF @any_state IS NULL AND NEW.estado <> OLD.estado AND CONCAT(OLD.estado, "
                  "'>', NEW.estado) NOT IN (" +
                  allowed + ") THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no such transition'; END IF");
}

Session migrated(const std::string& name) {
  Session session(server(name), {"root", 30});
  Session guard(server(name), {"root"});
  migrate(session, read_migrations(SOURCE_DIR "/sql/migrations"), guard, [](const std::string&) {});
  watch_transitions(session, "entregas", delivery::delivery_transitions);
  watch_transitions(session, "notificaciones_pendientes", delivery::notification_transitions);
  return session;
}

/// Returns the statements that make all that a migrated database has. They take a quarter of the migrations'
/// time. They copy the rows from that database, which stays.
std::vector<std::string> statements_of_copy() {
  const auto original = new_name();
  Session(server(""), {"root"}).execute("CREATE DATABASE " + original + " CHARACTER SET utf8mb4");
  auto session = migrated(original);
  std::vector<std::string> statements{"SET foreign_key_checks = 0"};
  const auto show = [&](const std::string& kind, const std::string& name, const std::string& column) {
    statements.push_back(session.query("SHOW CREATE " + kind + " " + name).front().text(column));
  };
  const auto names = [&](const std::string& type) {
    return session.query(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND "
        "table_type = ? ORDER BY create_time, table_name",
        type);
  };
  for (const auto& table : names("BASE TABLE")) {
    const auto name = table.text("name");
    show("TABLE", name, "Create Table");
    if (!session.query("SELECT 1 FROM " + name + " LIMIT 1").empty())
      statements.push_back("INSERT INTO " + name + " SELECT * FROM " + original + "." + name);
  }
  for (const auto& trigger :
       session.query("SELECT trigger_name AS name FROM information_schema.triggers WHERE "
                     "trigger_schema = DATABASE() ORDER BY event_object_table, "
                     "action_timing, event_manipulation, action_order"))
    show("TRIGGER", trigger.text("name"), "SQL Original Statement");
  for (const auto& view : names("VIEW")) show("VIEW", view.text("name"), "Create View");
  statements.emplace_back("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3)");
  statements.emplace_back("SET foreign_key_checks = DEFAULT");
  return statements;
}

Session create(const std::string& name) {
  static const auto statements = statements_of_copy();
  Session(server(""), {"root"}).execute("CREATE DATABASE " + name + " CHARACTER SET utf8mb4");
  Session session(server(name), {"root", 30});
  for (const auto& statement : statements) session.execute(statement);
  return session;
}

}  // namespace

Database::Database() : name(new_name()), session(create(name)) {}

Database::~Database() {
  try {
    session.execute("DROP DATABASE " + name);
  } catch (const std::exception&) {  // the test has killed the connection or the server
  }
}

Session lock_gap(const Database& database, WebhookId webhook, std::string_view state,
                 const std::string& condition) {
  auto other = database.connect();
  other.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  other.execute("START TRANSACTION");
  other.query(
      "SELECT id FROM entregas FORCE INDEX (entregas_por_reclamar) WHERE espera = ? AND webhook_id = ? AND " +
          condition + " FOR UPDATE",
      state, webhook);
  return other;
}

const webhook::KeyRing& keys() {
  static const auto ring = webhook::KeyRing::parse("k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  return ring;
}

Webhook add_webhook(Session& session, EntityId entity, std::optional<std::string> secret) {
  add_entity(session, entity, "Entidad " + to_string(entity));
  webhook::EventSet events;
  for (const auto event : webhook::all_events()) events.insert(event);
  return create_webhook(session, {entity, "https://receptor.example.org/ruta", events, std::move(secret)},
                        keys())
      .webhook.value();
}

NotificationId insert_notification(Session& session, EntityId entity, std::string_view event,
                                   std::string_view data) {
  session.update("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES (?, ?, ?)", entity,
                 event, data);
  return session.last_insert_id();
}

std::string numbers(int count, const std::string& alias) {
  return "JSON_TABLE(CONCAT('[0', REPEAT(',0', " + std::to_string(count - 1) +
         "), ']'), '$[*]' COLUMNS (seq FOR ORDINALITY)) " + alias;
}

std::vector<PlanStep> explain(Session& session, const std::string& sql) {
  std::vector<PlanStep> steps;
  for (const auto& row : session.query("EXPLAIN FORMAT=TRADITIONAL " + sql)) {
    const auto text = [&](const char* column) { return row.optional_text(column).value_or(""); };
    if (text("select_type") == "INSERT") continue;  // a table that is written to and not read
    steps.push_back({text("table"), text("type"), text("key"), text("Extra")});
  }
  return steps;
}

bool wait_for_row_lock(Session& look, platform::Milliseconds patience, std::string_view query) {
  const auto deadline = platform::monotonic_now() + patience;
  while (platform::monotonic_now() < deadline) {
    if (!look.query("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND "
                    "COALESCE(trx_query, '') LIKE ?",
                    query)
             .empty())
      return true;
    // The server caches innodb_trx for 0.1 s.
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
  }
  return false;
}

void execute_grants(Session& session, const std::string& name) {
  std::ifstream file(SOURCE_DIR "/sql/grants/" + name);
  std::string delimiter = ";";
  std::string statement;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("--")) continue;
    if (line.starts_with("DELIMITER ")) {
      delimiter = line.substr(line.find(' ') + 1);
      continue;
    }
    statement += line + '\n';
    if (!line.ends_with(delimiter)) continue;
    session.execute(statement.substr(0, statement.size() - delimiter.size() - 1));
    statement.clear();
  }
}

std::int64_t rows_read(Session& session) {
  std::int64_t rows = 0;
  // MariaDB has a counter of its own for index entries that it checks before it reads their rows.
  for (const auto& row : session.query("SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR "
                                       "Variable_name = 'Handler_icp_attempts'"))
    rows += row.integer("Value");
  return rows;
}

std::vector<EntityId> waiting_entities(Session& session) {
  std::vector<EntityId> result;
  for (std::vector<IdRange> rest(1); !rest.empty();) {
    auto waiting = find_waiting_entities(session, rest);
    for (const auto& entity : waiting.found) result.push_back(entity.id);
    rest = std::move(waiting.rest);
  }
  return result;
}

std::vector<PendingNotification> oldest_pending(Session& session, const std::vector<TakeRequest>& requests) {
  std::vector<NotificationId> ids;
  for (const auto& [id, entity] : find_oldest_pending(session, requests)) ids.push_back(id);
  return transaction(session, [&] { return lock_pending(session, ids); });
}

std::vector<CreatedDelivery> fan_out(Session& session, DeliveryState state, const Lease& lease) {
  const auto entities = waiting_entities(session);
  std::vector<TakeRequest> requests;
  requests.reserve(entities.size());
  for (const auto entity : entities) requests.push_back({entity, 0, 1000});
  std::vector<NotificationId> ids;
  for (const auto& [id, entity] : find_oldest_pending(session, requests)) ids.push_back(id);
  return transaction(session, [&] {
    auto pending = lock_pending(session, ids);
    leave_to_newer(session, pending);
    const auto recipients = load_recipients(session, entities);
    FanOutRows fan_out;
    for (const auto& notification : pending) {
      fan_out.processed.push_back(notification.id);
      for (const auto& subscriber : recipients.at(notification.entity).webhooks) {
        fan_out.deliveries.push_back(
            {notification.id, subscriber.target.webhook, notification.event.value(), state});
      }
    }
    return write_fan_out(session, fan_out, lease);
  });
}

ReconcileWalk::Changed reconcile(Session& session) {
  ReconcileWalk::Changed all;
  for (ReconcileWalk walk;; walk = next_walk(walk)) {
    while (!walk.done) reconcile_some(session, walk);
    if (walk.changed.all() == 0) return all;
    all += walk.changed;
  }
}

namespace {
DeliveryResult attempted(const LeasedDelivery& delivery) {
  DeliveryResult delivery_result;
  delivery_result.id = delivery.id;
  delivery_result.webhook = delivery.webhook;
  delivery_result.lease = delivery.lease;
  delivery_result.test = delivery.test;
  delivery_result.kind = delivery.kind;
  delivery_result.replay = delivery.replay;
  delivery_result.attempts = delivery.attempts;
  delivery_result.started = platform::utc_now();
  delivery_result.duration = platform::Milliseconds(12);
  delivery_result.address = "127.0.0.1";
  return delivery_result;
}
}  // namespace

DeliveryResult delivered(const LeasedDelivery& delivery) {
  auto delivery_result = attempted(delivery);
  delivery_result.status = 200;
  delivery_result.failures = delivery.failures;
  return delivery_result;
}

DeliveryResult failed_attempt(const LeasedDelivery& delivery, platform::Milliseconds wait) {
  auto delivery_result = attempted(delivery);
  delivery_result.state = DeliveryState::pending;
  delivery_result.status = 500;
  delivery_result.error = "El receptor respondió 500";
  delivery_result.failures = delivery.failures + 1;
  delivery_result.wait = wait;
  return delivery_result;
}

}  // namespace store::testing
