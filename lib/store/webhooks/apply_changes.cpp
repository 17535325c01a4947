// Implements apply_changes() of lib/store/webhooks/changes.hpp, which the dispatcher calls.
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/due_anew.hpp"
#include "lib/store/locked_deliveries.hpp"
#include "lib/store/retries.hpp"
#include "lib/store/session/batches.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/webhooks/changes.hpp"

namespace store {

namespace {

constexpr std::string_view lock_next_change = R"sql(
  SELECT webhook_id, adelantar, avance FROM cambios_webhook FORCE INDEX (PRIMARY)
  WHERE webhook_id > ? ORDER BY webhook_id LIMIT 1 FOR UPDATE SKIP LOCKED)sql";
/// Skips a locked row: only this webhook's change is delayed.
constexpr std::string_view lock_execution = R"sql(
  SELECT 1 FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id = ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view has_execution = "SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = ?";
/// Ends the rest and the failure streak, and forgets the certificate, which another URL may not have. If the
/// last attempt failed, makes a probe due at once, because the next retry may be hours away. Runs even if no
/// row is visible: another session may be inserting the row for the webhook's first failure, without having
/// committed yet. This INSERT meets the lock of that session, and so does not miss the row.
constexpr std::string_view forget_failures = R"sql(
  INSERT INTO webhook_ejecuciones (webhook_id) VALUES (?)
  ON DUPLICATE KEY UPDATE fallos = 0, fallos_desde = NULL, sondeo = FALSE, descansa_hasta = NULL,
    certificado_caduca = NULL, adelantar_en = IF(ultimo_error <> '', UTC_TIMESTAMP(3), NULL))sql";
constexpr std::string_view that_wait = "AND estado = 'pendiente' AND paso > 0 FOR UPDATE SKIP LOCKED";
constexpr std::string_view hasten = joined<change_locked_deliveries, due_anew>;
constexpr std::string_view note_progress = "UPDATE cambios_webhook SET avance = ? WHERE webhook_id = ?";
constexpr std::string_view change_is_applied = "DELETE FROM cambios_webhook WHERE webhook_id = ?";

/// Ends the webhook's rest and failure streak. Returns false when its row of webhook_ejecuciones is locked.
bool end_streak(Session& session, WebhookId webhook) {
  if (session.query(lock_execution, webhook).empty() && !session.query(has_execution, webhook).empty())
    return false;
  session.update(without_waiting<forget_failures>, webhook);
  return true;
}

std::uint64_t hasten_some(Session& session, const std::vector<DeliveryId>& waiting, std::string& refusal) {
  // The others of `waiting` are being claimed, and will be sent anyway.
  const auto locked = lock_free_deliveries(session, waiting, that_wait);
  return change_accepted(locked, "delivery", refusal,
                         [&](const auto& some) { return session.update(hasten, json_ids(some)); });
}

struct Applied {
  std::uint64_t hastened = 0;
  bool finished = false;
  bool held = false;
};

/// Applies the next batch of a change.
Applied apply(Session& session, const Row& change, std::string& refusal) {
  const auto webhook = change.integer("webhook_id");
  const auto progress = change.integer("avance");
  if (progress == 0 && !end_streak(session, webhook)) return {.held = true};
  std::vector<DeliveryId> waiting;
  if (change.boolean("adelantar")) waiting = find_retries(session, webhook, progress);
  const Applied applied{hasten_some(session, waiting, refusal), waiting.size() < batch_rows};
  if (applied.finished)
    session.update(change_is_applied, webhook);
  else
    session.update(note_progress, waiting.back(), webhook);
  return applied;
}

}  // namespace

void apply_changes(Session& session, ChangeWalk& walk) {
  const auto from = walk.after;
  std::optional<Applied> applied;
  try {
    applied = transaction(session, [&]() -> std::optional<Applied> {
      const auto rows = session.query(lock_next_change, from);
      if (rows.empty()) return std::nullopt;
      // Set before apply(), which may throw: the next step then goes on with the next webhook.
      walk.after = rows.front().integer("webhook_id");
      return apply(session, rows.front(), walk.refusal);
    });
  } catch (const Refused& error) {
    walk.refusal = "webhook " + to_string(walk.after) + ": " + error.what();
    return;
  } catch (const LockTimeout& error) {
    if (!is_locked_place(session, error)) throw;
    ++walk.held;
    return;
  }
  if (!applied) {
    walk.done = true;
    return;
  }
  walk.hastened += applied->hastened;
  if (!applied->held) walk.begun.push_back(walk.after);
  (applied->held ? walk.held : applied->finished ? walk.applied : walk.unfinished) += 1;
}

}  // namespace store
