#include "lib/store/deliveries/brought_forward.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "lib/delivery/attempt.hpp"
#include "lib/store/deliveries/claim.hpp"
#include "lib/store/locked_deliveries.hpp"
#include "lib/store/session/isolate.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/store/session/union_all.hpp"
#include "lib/webhook/event.hpp"

namespace store {

namespace {

using delivery::AttemptKind;
using platform::Milliseconds;

constexpr unsigned webhooks_per_step = 64;
constexpr std::size_t webhooks_per_statement = 16;

constexpr std::string_view next_webhooks = R"sql(
  SELECT webhook_id, CAST(adelantar_en AS CHAR) AS desde
  FROM webhook_ejecuciones FORCE INDEX (ejecuciones_por_adelantar)
  WHERE adelantar_en BETWEEN ? AND UTC_TIMESTAMP(3) AND (adelantar_en > ? OR webhook_id > ?)
  ORDER BY adelantar_en, webhook_id LIMIT ?)sql";

constexpr std::string_view due_deliveries = R"sql(
  SELECT ? AS webhook_id, COUNT(*) AS vencidas
  FROM (SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)
        WHERE espera = 'pendiente' AND webhook_id = ? AND proximo_intento <= UTC_TIMESTAMP(3) LIMIT ?) d)sql";

constexpr std::string_view oldest_waiting = R"sql(
  SELECT id, webhook_id FROM entregas FORCE INDEX (entregas_por_adelantar)
  WHERE reintento_de = ? AND adelantada = 0 AND proximo_intento > UTC_TIMESTAMP(3) ORDER BY id LIMIT ?)sql";

/// Finds the delivery with which to probe a webhook: the one with the earliest last attempt. Considers only
/// deliveries that wait for a retry: the 100 oldest that had an early attempt, and the 100 oldest that had
/// none. Deliveries with a running Retry-After come after the others. Deliveries with an event that only a
/// newer release knows come last, because they cannot be sent and would be found each time.
constexpr std::string_view longest_untried = R"sql(
  SELECT e.id, e.webhook_id, NOT COALESCE(FIND_IN_SET(e.evento, ?), TRUE) AS desconocida
  FROM ((SELECT id, webhook_id, intentos, no_antes, evento FROM entregas FORCE INDEX (entregas_por_adelantar)
         WHERE reintento_de = ? AND adelantada = 0 ORDER BY id LIMIT 100)
        UNION ALL
        (SELECT id, webhook_id, intentos, no_antes, evento FROM entregas FORCE INDEX (entregas_por_adelantar)
         WHERE reintento_de = ? AND adelantada = 1 ORDER BY id LIMIT 100)) e
  LEFT JOIN intentos_entrega i ON i.entrega_id = e.id AND i.numero = e.intentos
  ORDER BY desconocida, COALESCE(e.no_antes > UTC_TIMESTAMP(3), FALSE), i.inicio, e.id LIMIT 1)sql";

/// Only what is due later: an attempt that the schedule has made due stays one of the schedule.
constexpr std::string_view that_wait =
    "AND estado = 'pendiente' AND proximo_intento > UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED";
/// A release up to 0.2.0 claims without a look at `prevista` and sets `tipo` to `programado`: its `prevista`
/// is out of date. Assigned from left to right.
constexpr std::string_view assignments = R"sql(
    e.prevista = IF(e.tipo = 'programado', e.proximo_intento, COALESCE(e.prevista, e.proximo_intento)),
    e.tipo = ?, e.adelantada = e.adelantada OR ?,
    e.proximo_intento = LEAST(e.proximo_intento, GREATEST(UTC_TIMESTAMP(3), COALESCE(e.no_antes, UTC_TIMESTAMP(3))))
  WHERE e.estado = 'pendiente')sql";
constexpr std::string_view make_due_early = joined<change_locked_deliveries, assignments>;

constexpr std::string_view lock_executions =
    "SELECT webhook_id, CAST(adelantar_en AS CHAR) AS desde"
    " FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id IN";
constexpr std::string_view while_early = "AND adelantar_en <= UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED";
constexpr std::string_view move_early = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', again_us BIGINT PATH '$[1]')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id
  SET x.adelantar_en = UTC_TIMESTAMP(3) + INTERVAL j.again_us MICROSECOND)sql";

/// What a step changes of one webhook.
struct Planned {
  WebhookId webhook;
  UtcTime since;                // adelantar_en when the step read it
  bool failing = false;         // the deliveries are probes
  unsigned room = 0;            // how many deliveries may be made due
  std::vector<DeliveryId> ids;  // those to make due
  bool moves = false;           // adelantar_en changes, to `again` from now or, if it is unset, to NULL
  std::optional<Milliseconds> again;

  void move(std::optional<Milliseconds> to) {
    moves = true;
    again = to;
  }
};
using Plan = std::vector<Planned>;  // sorted by webhook

Planned& find(Plan& plan, WebhookId webhook) {
  return *std::ranges::lower_bound(plan, webhook, {}, &Planned::webhook);
}

Plan read_step(Session& session, ForwardWalk& walk) {
  const auto rows = session.query(next_webhooks, walk.since, walk.since, walk.after, webhooks_per_step);
  Plan plan;
  for (const auto& row : rows)
    plan.push_back(
        {.webhook = row.integer("webhook_id"), .since = row.time("desde"), .ids = {}, .again = {}});
  walk.done = rows.size() < webhooks_per_step;
  walk.webhooks += rows.size();
  if (!plan.empty()) {
    walk.since = plan.back().since;
    walk.after = plan.back().webhook;
  }
  std::ranges::sort(plan, {}, &Planned::webhook);
  return plan;
}

/// Finds out how many deliveries of each webhook may be made due. A webhook that may not receive is not
/// visited again until its next result or change, one that rests not before it has rested.
void plan_room(Session& session, const ForwardLimits& limits, Plan& plan) {
  std::vector<WebhookId> ids;
  for (auto& one : plan) {
    one.move(std::nullopt);
    ids.push_back(one.webhook);
  }
  std::vector<Seek> seeks;
  for (const auto& webhook : load_receiving(session, ids)) {
    const auto id = webhook.target.webhook;
    auto& one = find(plan, id);
    one.failing = webhook.failing;
    if (webhook.rest.count() > 0) {
      one.move(std::min<Milliseconds>(webhook.rest, std::chrono::minutes(1)));
    } else if (!one.failing || limits.probe_interval.count() > 0) {
      one.moves = false;
      seeks.push_back({Parameter(id), Parameter(id), Parameter(limits.most_due)});
    }
  }
  const Seek none{Parameter(-1), Parameter(-1), Parameter(0)};
  for (const auto& row : query_seeks(session, due_deliveries, seeks, none, webhooks_per_statement)) {
    if (row.integer("webhook_id") < 0) continue;  // `none`
    auto& one = find(plan, row.integer("webhook_id"));
    const auto due = static_cast<unsigned>(row.integer("vencidas"));
    if (one.failing) one.move(limits.probe_interval);
    one.room = one.failing ? (due == 0 ? 1 : 0) : limits.most_due - due;
  }
}

/// Finds the deliveries of the recovered webhooks. The recovery of a webhook ends when none is left to bring
/// forward.
void plan_recoveries(Session& session, Plan& plan) {
  std::vector<Seek> seeks;
  for (auto& one : plan) {
    if (one.failing || one.room == 0) continue;
    seeks.push_back({Parameter(one.webhook), Parameter(one.room)});
    one.move(std::nullopt);
  }
  const Seek none{Parameter(-1), Parameter(0)};
  for (const auto& row : query_seeks(session, oldest_waiting, seeks, none, webhooks_per_statement)) {
    auto& one = find(plan, row.integer("webhook_id"));
    one.ids.push_back(row.integer("id"));
    one.moves = false;
  }
}

std::string known_events() {
  webhook::EventSet events;
  for (const auto event : webhook::all_events()) events.insert(event);
  return events.joined();
}

/// Finds the probes of the failing webhooks. One without deliveries that wait gets no more probes.
void plan_probes(Session& session, Milliseconds interval, Plan& plan) {
  std::vector<Seek> seeks;
  const Parameter known(known_events());
  for (auto& one : plan) {
    if (!one.failing || one.room == 0) continue;
    seeks.push_back({known, Parameter(one.webhook), Parameter(one.webhook)});
    one.move(std::nullopt);
  }
  const Seek none{known, Parameter(-1), Parameter(-1)};
  for (const auto& row : query_seeks(session, longest_untried, seeks, none, webhooks_per_statement)) {
    auto& one = find(plan, row.integer("webhook_id"));
    one.move(interval);
    if (!row.boolean("desconocida")) one.ids.push_back(row.integer("id"));
  }
}

/// Sets the times at which the webhooks are visited again. Returns the other webhooks of the plan, and those
/// that it has changed: not one whose row another session has locked or changed.
Plan move(Session& session, const Plan& plan) {
  std::vector<WebhookId> ids;
  for (const auto& one : plan) {
    if (one.moves) ids.push_back(one.webhook);
  }
  std::map<WebhookId, UtcTime> locked;
  for (const auto& row : query_ids(session, lock_executions, ids, while_early))
    locked.emplace(row.integer("webhook_id"), row.time("desde"));
  Plan rest;
  json::Array rows;
  for (const auto& one : plan) {
    const auto found = locked.find(one.webhook);
    if (one.moves && (found == locked.end() || found->second != one.since)) continue;
    rest.push_back(one);
    if (one.moves) rows.push_back(json::Array{one.webhook, microseconds(one.again)});
  }
  if (!rows.empty()) session.update(move_early, json::dump(rows));
  return rest;
}

void make_due(Session& session, const Plan& plan, bool failing, std::string& refusal) {
  std::vector<DeliveryId> ids;
  for (const auto& one : plan) {
    if (one.failing == failing) std::ranges::copy(one.ids, std::back_inserter(ids));
  }
  std::ranges::sort(ids);  // every session locks in the same order
  const auto kind = failing ? AttemptKind::probe : AttemptKind::early;
  change_accepted(lock_free_deliveries(session, ids, that_wait), "delivery", refusal, [&](const auto& some) {
    return session.update(make_due_early, json_ids(some), name(kind), kind == AttemptKind::early);
  });
}

}  // namespace

void bring_forward(Session& session, const ForwardLimits& limits, ForwardWalk& walk) {
  auto plan = read_step(session, walk);
  if (plan.empty()) return;
  plan_room(session, limits, plan);
  plan_recoveries(session, plan);
  plan_probes(session, limits.probe_interval, plan);
  isolate(
      plan,
      [&](const Plan& part) {
        // One transaction, so that a probe and the time of the next one change together.
        transaction(session, [&] {
          const auto free = move(session, part);
          make_due(session, free, false, walk.refusal);
          make_due(session, free, true, walk.refusal);
        });
        for (const auto& one : part) {
          if (!one.ids.empty()) walk.due.push_back(one.webhook);
        }
      },
      [&](const Planned& one, const DatabaseError& error) {
        if (is_refused(error)) walk.refusal = "webhook " + to_string(one.webhook) + ": " + error.what();
      },
      [&](const DatabaseError& error) { return is_refused(error) || is_locked_place(session, error); });
}

}  // namespace store
