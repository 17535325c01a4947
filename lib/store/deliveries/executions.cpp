#include "lib/store/deliveries/executions.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

using delivery::Execution;
using delivery::WebhookResults;

namespace {

constexpr std::string_view executions_by_webhook = R"sql(
  SELECT webhook_id, CAST(ultima_ejecucion AS CHAR) AS ultima_ejecucion, ultimo_estado, ultimo_error, sondeo,
    CAST(descansa_hasta AS CHAR) AS descansa_hasta, fallos, CAST(fallos_desde AS CHAR) AS fallos_desde,
    CAST(fallos_ultimo AS CHAR) AS fallos_ultimo, CAST(adelantar_en AS CHAR) AS adelantar_en
  FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id IN)sql";
constexpr std::string_view make_executions = "INSERT INTO webhook_ejecuciones (webhook_id) VALUES";
constexpr std::string_view if_missing = "ON DUPLICATE KEY UPDATE webhook_id = VALUES(webhook_id)";
constexpr std::string_view time_now = "SELECT CAST(UTC_TIMESTAMP(3) AS CHAR) AS ahora";

constexpr std::string_view insert_executions = R"sql(
  INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, sondeo,
    descansa_hasta, fallos, fallos_desde, fallos_ultimo, adelantar_en) VALUES)sql";
constexpr std::string_view execution_row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr std::string_view or_replace_executions = R"sql(
  ON DUPLICATE KEY UPDATE ultima_ejecucion = VALUES(ultima_ejecucion), ultimo_estado = VALUES(ultimo_estado),
    ultimo_error = VALUES(ultimo_error), sondeo = VALUES(sondeo), descansa_hasta = VALUES(descansa_hasta),
    fallos = VALUES(fallos), fallos_desde = VALUES(fallos_desde), fallos_ultimo = VALUES(fallos_ultimo),
    adelantar_en = VALUES(adelantar_en))sql";

/// For batches that contain only successes, as most do: what delivery::after() makes of them, without a read.
/// Assigns `adelantar_en` first, because it depends on the former `ultimo_error`.
constexpr std::string_view insert_successes = R"sql(
  INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado) VALUES)sql";
constexpr std::string_view or_note_success = R"sql(
  ON DUPLICATE KEY UPDATE
    adelantar_en = IF(ultimo_error = '', adelantar_en, UTC_TIMESTAMP(3)),
    fallos_desde = NULL, fallos = 0, ultima_ejecucion = VALUES(ultima_ejecucion),
    ultimo_estado = VALUES(ultimo_estado), ultimo_error = '', sondeo = FALSE)sql";

constexpr std::string_view set_certificates = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', ends VARCHAR(23) PATH '$[1]')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id
  SET x.certificado_caduca = j.ends
  WHERE NOT x.certificado_caduca <=> CAST(j.ends AS DATETIME(3)))sql";

Execution read_execution(const Row& row) {
  const auto status = row.optional_integer("ultimo_estado");
  return {.started = row.optional_time("ultima_ejecucion"),
          .status = status ? std::optional(static_cast<int>(*status)) : std::nullopt,
          .error = row.text("ultimo_error"),
          .one_at_a_time = row.boolean("sondeo"),
          .rests_until = row.optional_time("descansa_hasta"),
          .failures = static_cast<std::uint32_t>(row.integer("fallos")),
          .failing_since = row.optional_time("fallos_desde"),
          .last_failure = row.optional_time("fallos_ultimo"),
          .ahead_from = row.optional_time("adelantar_en")};
}

void write_successes(Session& session, const std::map<WebhookId, WebhookResults>& results) {
  std::vector<Parameter> rows;
  for (const auto& [webhook, of_webhook] : results)
    append_row(rows, webhook, of_webhook.last->started, of_webhook.last->status);
  upsert_rows(session, without_waiting<insert_successes>, "(?, ?, ?)", rows, or_note_success);
}

std::map<WebhookId, Execution> lock_those_there_are(Session& session,
                                                    const std::vector<WebhookId>& webhooks) {
  std::map<WebhookId, Execution> executions;
  for (const auto& row : query_ids(session, without_waiting<executions_by_webhook>, webhooks, "FOR UPDATE"))
    executions.emplace(row.integer("webhook_id"), read_execution(row));
  return executions;
}

void write_all(Session& session, const std::map<WebhookId, WebhookResults>& results,
               platform::Milliseconds probe_interval) {
  std::vector<WebhookId> webhooks;
  for (const auto& [webhook, of_webhook] : results) webhooks.push_back(webhook);
  const auto executions = lock_executions(session, webhooks);
  const auto now = session.query(time_now).at(0).time("ahora");
  std::vector<Parameter> rows;
  for (const auto& [webhook, of_webhook] : results) {
    const auto one = delivery::after(executions.at(webhook), of_webhook, now, probe_interval);
    append_row(rows, webhook, one.started, one.status, one.error, one.one_at_a_time, one.rests_until,
               std::int64_t{one.failures}, one.failing_since, one.last_failure, one.ahead_from);
  }
  upsert_rows(session, without_waiting<insert_executions>, execution_row, rows, or_replace_executions);
}

}  // namespace

std::map<WebhookId, Execution> lock_executions(Session& session, const std::vector<WebhookId>& webhooks) {
  auto executions = lock_those_there_are(session, webhooks);
  std::vector<WebhookId> missing;
  std::ranges::copy_if(webhooks, std::back_inserter(missing),
                       [&](const auto webhook) { return !executions.contains(webhook); });
  if (missing.empty()) return executions;
  const std::vector<Parameter> rows(missing.begin(), missing.end());
  upsert_rows(session, without_waiting<make_executions>, "(?)", rows, if_missing);
  executions.merge(lock_those_there_are(session, missing));  // another session may have made some of them
  return executions;
}

void record_executions(Session& session, const std::map<WebhookId, WebhookResults>& results,
                       platform::Milliseconds probe_interval) {
  if (results.empty()) return;
  // The successes are not written apart from the failures, because every session must lock all these rows in
  // the order of their ids.
  if (std::ranges::all_of(results, [](const auto& one) { return one.second.only_succeeded(); }))
    write_successes(session, results);
  else
    write_all(session, results, probe_interval);
}

void record_certificates(Session& session, const std::vector<const delivery::DeliveryResult*>& batch) {
  std::map<WebhookId, UtcTime> ends;
  for (const auto* result : batch)
    if (result->certificate_end) ends.insert_or_assign(result->webhook, *result->certificate_end);
  if (ends.empty()) return;
  json::Array rows;
  for (const auto& [webhook, end] : ends) rows.emplace_back(json::Array{webhook, format_datetime(end)});
  session.update(without_waiting<set_certificates>, json::dump(rows));
}

}  // namespace store
