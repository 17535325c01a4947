// Shared by the tests of maintenance: rows of every age, whole walks, and a clock that can be set.
#pragma once

#include <optional>
#include <string>

#include "lib/store/maintenance/clock_watch.hpp"
#include "lib/store/maintenance/reconciliation.hpp"
#include "lib/store/maintenance/retention.hpp"
#include "tests/store/database.hpp"

namespace store::testing {

using platform::Milliseconds;

inline constexpr Milliseconds hour{3600000};
inline constexpr Milliseconds day = 24 * hour;

struct MaintenanceFixture {
  Database database;
  Session& session = database.session;

  std::int64_t number(const std::string& sql) {
    return session.query("SELECT (" + sql + ") AS number").at(0).integer("number");
  }
  std::int64_t count(const std::string& table, const std::string& condition = "TRUE") {
    return number("SELECT COUNT(*) FROM " + table + " WHERE " + condition);
  }

  /// Adds `count` finished deliveries of a webhook, each with its notification and an attempt. The
  /// nth delivery ended n seconds less than `age` ago.
  void add_finished(WebhookId webhook, unsigned count, Milliseconds age,
                    const std::string& state = "entregada") {
    session.execute("SET @first = (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes)");
    const std::string when = "UTC_TIMESTAMP(3) - INTERVAL " + std::to_string(age.count()) + "000 MICROSECOND";
    session.execute(
        "INSERT INTO notificaciones_pendientes (id, entidad_id, evento, datos, estado, terminada_en)"
        " SELECT @first + seq, 1, 'evaluacion.cerrada', '{}', 'procesada', " +
        when + " + INTERVAL seq SECOND FROM " + numbers(count));
    session.execute(
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, "
        "terminada_en)"
        " SELECT id, " +
        to_string(webhook) + ", '" + state +
        "', 1, terminada_en, terminada_en, terminada_en FROM notificaciones_pendientes WHERE id > @first "
        "ORDER BY id");
    session.execute(
        "INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http)"
        " SELECT id, 1, creada_en, 5, 200 FROM entregas WHERE notificacion_id > @first");
  }

  /// Adds `count` pending deliveries of a webhook, due after `wait`, that have failed `failures` times.
  void add_pending(WebhookId webhook, unsigned count, Milliseconds wait, unsigned failures) {
    for (unsigned i = 0; i < count; ++i) insert_notification(session, 1);
    fan_out(session);
    session.update(
        "UPDATE entregas SET paso = ?, proximo_intento = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND WHERE "
        "webhook_id = ?"
        " AND estado = 'pendiente' ORDER BY id DESC LIMIT ?",
        failures, std::int64_t{wait.count()} * 1000, webhook, count);
  }

  /// Makes the database refuse every UPDATE of the first delivery of each webhook.
  void refuse_first_deliveries() {
    std::string ids = "0";
    for (const auto& row : session.query("SELECT MIN(id) AS id FROM entregas GROUP BY webhook_id"))
      ids += ", " + std::to_string(row.integer("id"));
    session.execute("CREATE TRIGGER refuse BEFORE UPDATE ON entregas FOR EACH ROW BEGIN IF NEW.id IN (" +
                    ids + ") THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END");
  }

  /// Whether `forget` ends without waiting while another session has locked the rows of the SELECT `locked`.
  template <class Forget>
  bool forgets_beside(const std::string& locked, Forget&& forget) {
    auto other = database.connect();
    other.execute("START TRANSACTION");
    other.query(locked + " FOR UPDATE");
    const bool result = waits_for_no_lock(session, forget);
    other.execute("ROLLBACK");
    return result;
  }

  /// Sets this session's clock ahead of the server's; other sessions keep theirs.
  void set_clock(Milliseconds ahead) {
    session.execute("SET @@timestamp = DEFAULT");
    session.execute("SET @@timestamp = UNIX_TIMESTAMP(SYSDATE(3)) + " + std::to_string(ahead.count() / 1000));
  }
};

/// Lets a dispatcher see that the clock has gone back, and accepts the clock.
inline AcceptedClock see_and_accept_clock(Session& session) {
  session.update("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) + INTERVAL 1 DAY WHERE id = 1");
  std::optional<ClockSight> first;
  watch_clock(session, first, platform::monotonic_now(), hour);
  return accept_clock(session);
}

struct Purged {
  std::uint64_t rows = 0;
  unsigned windows = 0;
};
inline Purged purge(Session& session, const config::RetentionSettings& retention, PurgeWalk& walk,
                    unsigned window = 512) {
  Purged result;
  for (walk.restart(); !walk.done(); ++result.windows)
    result.rows += purge_window(session, retention, walk, window);
  return result;
}
inline Purged sweep(Session& session, const config::RetentionSettings& retention) {
  PurgeWalk walk{true};
  return purge(session, retention, walk);
}

inline constexpr config::RetentionSettings retention{30 * day, 90 * day, 60 * day, {}, {}, 2 * day};

}  // namespace store::testing
