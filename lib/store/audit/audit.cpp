#include "lib/store/audit/audit.hpp"

#include <limits>

#include "lib/crypto/crypto.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"

namespace store {

namespace {

// Equal entries of one hour have the same `repeticion`; the hour is by the database's clock, which all
// writers share. Insertion and count are two statements, because MariaDB's INSERT … ON DUPLICATE KEY UPDATE
// requires the right to update every column that it inserts.
constexpr std::string_view insert_entry = R"sql(
  INSERT INTO auditoria (entidad_id, token_id, accion, webhook_id, detalle, repeticion)
  VALUES (?, ?, ?, ?, ?, UNHEX(SHA2(CONCAT(DATE_FORMAT(UTC_TIMESTAMP(), '%Y%m%d%H '), ?), 256))))sql";
constexpr std::string_view count_again = R"sql(
  UPDATE auditoria SET veces = LEAST(veces + 1, 4294967295), ultima_en = UTC_TIMESTAMP(3)
  WHERE repeticion = UNHEX(SHA2(CONCAT(DATE_FORMAT(UTC_TIMESTAMP(), '%Y%m%d%H '), ?), 256)))sql";

constexpr std::string_view insert_operator_entry = R"sql(
  INSERT INTO auditoria (entidad_id, operador, accion, objeto, webhook_id, detalle)
  VALUES (COALESCE(?, (SELECT entidad_id FROM webhooks WHERE id = ?)), ?, ?, ?, ?, ?))sql";

/// The newest entries that match a filter, oldest first.
constexpr std::string_view filtered_entries = R"sql(
  SELECT * FROM (
    SELECT id, CAST(ocurrida_en AS CHAR) AS ocurrida_en, entidad_id, token_id, accion, webhook_id, detalle, operador, objeto,
      veces, CAST(COALESCE(ultima_en, ocurrida_en) AS CHAR) AS ultima_en
    FROM auditoria
    WHERE (? IS NULL OR entidad_id = ?) AND (? IS NULL OR webhook_id = ?) AND (? IS NULL OR accion = ?)
      AND (? IS NULL OR COALESCE(ultima_en, ocurrida_en) >= ?)
    ORDER BY id DESC LIMIT ?) newest
  ORDER BY id)sql";

constexpr std::string_view newest_of_entity = R"sql(
  SELECT a.id, CAST(a.ocurrida_en AS CHAR) AS ocurrida_en, a.accion, a.webhook_id, a.detalle,
    a.operador IS NULL AS propia, t.etiqueta, a.veces,
    CAST(COALESCE(a.ultima_en, a.ocurrida_en) AS CHAR) AS ultima_en
  FROM auditoria a FORCE INDEX (auditoria_de_entidad) LEFT JOIN tokens_acceso t FORCE INDEX (PRIMARY) ON t.id = a.token_id
  WHERE a.entidad_id = ? AND a.id < ? ORDER BY a.id DESC LIMIT ?)sql";

/// Reads few rows of each entity, because limits.registrations bounds an entity's changes. Equal changes of
/// one clock hour share a row, so a row with a change in the last hour may be up to two hours old. Rows
/// written while the database's clock was ahead do not count.
constexpr std::string_view changing_entities = R"sql(
  SELECT COUNT(*) AS entidades
  FROM (SELECT DISTINCT entidad_id FROM auditoria FORCE INDEX (auditoria_por_hora)
        WHERE ocurrida_en BETWEEN UTC_TIMESTAMP(3) - INTERVAL 2 HOUR AND UTC_TIMESTAMP(3)
          AND COALESCE(ultima_en, ocurrida_en) >= UTC_TIMESTAMP(3) - INTERVAL 1 HOUR
          AND accion = 'cambio' LIMIT 100) e)sql";

constexpr std::string_view lock_old = R"sql(
  SELECT id FROM auditoria FORCE INDEX (auditoria_por_hora)
  WHERE ocurrida_en < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
  ORDER BY ocurrida_en LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view forget_locked = R"sql(
  DELETE a FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j
  STRAIGHT_JOIN auditoria a FORCE INDEX (PRIMARY) ON a.id = j.id)sql";

std::string_view name(AuditedAction action) { return audited_actions.at(static_cast<std::size_t>(action)); }

/// Returns a text that identifies a change. Changes that have the same text within one clock hour share a row
/// (note_change).
std::string repeated(const Author& author, AuditedAction action, std::optional<WebhookId> webhook,
                     std::string_view what) {
  std::string text = to_string(author.entity) + ' ';
  text += author.token ? to_string(*author.token) : "-";
  return text.append(" ")
      .append(name(action))
      .append(" ")
      .append(webhook ? to_string(*webhook) : "-")
      .append(" ")
      .append(what);
}

}  // namespace

std::string audited_url(std::string_view url) {
  constexpr std::size_t longest = 160;
  constexpr std::size_t kept = 130;
  constexpr std::size_t digits = 16;
  if (url.size() <= longest) return std::string(url);
  return std::string(url.substr(0, kept)) +
         "… sha256:" + crypto::to_hex(crypto::sha256(url)).substr(0, digits);
}

void note_change(Session& session, const Author& author, AuditedAction action,
                 std::optional<WebhookId> webhook, std::string_view detail,
                 std::optional<std::string_view> what) {
  const auto same = repeated(author, action, webhook, what.value_or(detail));
  // If `what` is given, an equal entry probably exists. The UPDATE then comes before the INSERT, because an
  // INSERT that is refused as a duplicate keeps a lock that causes deadlocks.
  if (what && session.update(count_again, same) > 0) return;
  constexpr unsigned attempts = 3;  // the hour may end between the two statements
  for (unsigned attempt = 1;; ++attempt) {
    try {
      session.update(insert_entry, author.entity, author.token, name(action), webhook, detail, same);
      return;
    } catch (const DuplicateKey&) {
      if (attempt == attempts) throw;
    }
    if (session.update(count_again, same) > 0) return;
  }
}

void note_operator_action(Session& session, const OperatorAction& action) {
  session.update(insert_operator_entry, action.entity, action.webhook, action.who, action.action,
                 action.object, action.webhook, action.detail);
}

std::vector<AuditEntry> list_audit(Session& session, const ListFilter& filter,
                                   const std::optional<std::string>& action) {
  std::vector<AuditEntry> result;
  for (const auto& row :
       session.query(filtered_entries, filter.entity, filter.entity, filter.webhook, filter.webhook, action,
                     action, filter.since, filter.since, filter.limit)) {
    result.push_back({row.integer("id"), row.time("ocurrida_en"), row.optional_integer("entidad_id"),
                      row.optional_integer("token_id"), row.text("accion"),
                      row.optional_integer("webhook_id"), row.text("detalle"), row.optional_text("operador"),
                      row.optional_text("objeto"), row.integer("veces"), row.time("ultima_en")});
  }
  return result;
}

AuditPage read_audit_page(Session& session, EntityId entity, unsigned limit, std::optional<AuditId> before,
                          const std::optional<std::string>& token) {
  const auto newest = before.value_or(std::numeric_limits<std::int64_t>::max());
  auto rows = session.query(newest_of_entity, entity, newest, limit + 1);
  AuditPage page;
  if (rows.size() > limit) {
    rows.pop_back();
    page.next = rows.back().integer("id");
  }
  for (const auto& row : rows) {
    if (!row.boolean("propia") || (token && row.optional_text("etiqueta") != token)) continue;
    page.entries.push_back({row.integer("id"), row.time("ocurrida_en"), row.text("accion"),
                            row.optional_integer("webhook_id"), row.text("detalle"),
                            row.optional_text("etiqueta"), row.integer("veces"), row.time("ultima_en")});
  }
  return page;
}

std::int64_t count_changing_entities(Session& session) {
  return session.query(changing_entities).at(0).integer("entidades");
}

std::uint64_t forget_old_audit(Session& session, platform::Milliseconds kept) {
  return transaction(session, [&]() -> std::uint64_t {
    const auto ids = ids_in(session.query(lock_old, microseconds(kept), batch_rows));
    return ids.empty() ? 0 : session.update(forget_locked, json_ids(ids));
  });
}

}  // namespace store
