#include "database.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace store::testing {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr)
    throw std::runtime_error(std::string(name) + " is not set: run these tests by `./dev test`");
  return value;
}

platform::DatabaseSettings server(const std::string& database) {
  platform::DatabaseSettings settings;
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

Session create(const std::string& name) {
  Session root(server(""), {"root"});
  root.execute("CREATE DATABASE " + name + " CHARACTER SET utf8mb4");
  Session session(server(name), {"root", 30});
  migrate(session, read_migrations(SOURCE_DIR "/sql/migrations"), [](const std::string&) {});
  return session;
}

}  // namespace

Database::Database() : name(new_name()), session(create(name)) {}

Database::~Database() {
  try {
    session.execute("DROP DATABASE " + name);
  } catch (const std::exception&) {  // the test has killed the connection, or its server
  }
}

const webhook::KeyRing& keys() {
  static const auto ring = webhook::KeyRing::parse("k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  return ring;
}

Webhook add_webhook(Session& session, EntityId entity, std::optional<std::string> secret) {
  add_entity(session, entity, "Entidad " + std::to_string(entity));
  webhook::EventSet events;
  for (const auto event : webhook::all_events()) events.insert(event);
  return create_webhook(session, {entity, "https://receptor.example.org/ruta", events, std::move(secret)},
                        keys())
      .value();
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
  // MySQL has one column more, `partitions`, before the access, and one, `filtered`, before the last.
  const bool mariadb = session.query("SELECT VERSION()").at(0).text(0).find("MariaDB") != std::string::npos;
  const std::size_t access = mariadb ? 3 : 4, key = access + 2, extra = mariadb ? 9 : 11;
  std::vector<PlanStep> steps;
  for (const auto& row : session.query("EXPLAIN FORMAT=TRADITIONAL " + sql)) {
    const auto text = [&](std::size_t column) { return row.optional_text(column).value_or(""); };
    if (text(1) == "INSERT") continue;  // a table that is written to and not read
    steps.push_back({text(2), text(access), text(key), text(extra)});
  }
  return steps;
}

std::vector<EntityId> waiting_entities(Session& session) {
  std::vector<EntityId> result;
  Gap rest;
  for (auto found = find_waiting_entities(session, {rest}); !found.empty();
       found = find_waiting_entities(session, {rest})) {
    result.push_back(found.front().id);
    rest.first = found.front().id + 1;
  }
  return result;
}

std::vector<BornDelivery> expand(Session& session, BornState state, const Lease& lease) {
  return transaction(session, [&] {
    const auto entities = waiting_entities(session);
    std::vector<TakeRequest> requests;
    requests.reserve(entities.size());
    for (const auto entity : entities) requests.push_back({entity, 0, 1000});
    const auto pending = take_pending(session, requests).notifications;
    const auto recipients = load_recipients(session, entities);
    Expansion expansion;
    for (const auto& notification : pending) {
      expansion.processed.push_back(notification.id);
      for (const auto& subscriber : recipients.at(notification.entity).webhooks) {
        expansion.deliveries.push_back({notification.id, subscriber.target.webhook, state});
      }
    }
    return write_expansion(session, expansion, lease);
  });
}

ReconcileWalk::Changed reconcile(Session& session) {
  ReconcileWalk walk;
  while (!walk.done) reconcile_some(session, walk);
  return walk.changed;
}

namespace {
Settlement attempted(const LeasedDelivery& delivery) {
  Settlement settlement;
  settlement.id = delivery.id;
  settlement.webhook = delivery.webhook;
  settlement.lease = delivery.lease;
  settlement.test = delivery.test;
  settlement.attempts = delivery.attempts;
  settlement.started = platform::utc_now();
  settlement.duration = platform::Milliseconds(12);
  settlement.address = "127.0.0.1";
  return settlement;
}
}  // namespace

Settlement delivered(const LeasedDelivery& delivery) {
  auto settlement = attempted(delivery);
  settlement.status = 200;
  settlement.failures = delivery.failures;
  return settlement;
}

Settlement failed_attempt(const LeasedDelivery& delivery, platform::Milliseconds wait) {
  auto settlement = attempted(delivery);
  settlement.state = SettledState::retry;
  settlement.status = 500;
  settlement.error = "El receptor respondió 500";
  settlement.failures = delivery.failures + 1;
  settlement.wait = wait;
  return settlement;
}

}  // namespace store::testing
