#include "lib/store/deliveries/brought_forward.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "lib/delivery/attempt.hpp"
#include "lib/store/cancelled.hpp"
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
using platform::monotonic_now;
using namespace std::chrono_literals;

constexpr unsigned webhooks_per_step = 16;
constexpr Milliseconds shortest_wait{25};  // until a webhook of which nothing became due is visited again
constexpr Milliseconds longest_wait{5000};
constexpr Milliseconds longest_rest{60'000};  // a webhook that rests is visited again after this time

constexpr std::string_view next_webhooks = R"sql(
  SELECT webhook_id, CAST(adelantar_en AS CHAR) AS desde
  FROM webhook_ejecuciones FORCE INDEX (ejecuciones_por_adelantar)
  WHERE adelantar_en BETWEEN ? AND UTC_TIMESTAMP(3) AND (adelantar_en > ? OR webhook_id > ?)
  ORDER BY adelantar_en, webhook_id LIMIT ?)sql";

constexpr std::string_view still_pending = "SELECT id FROM entregas FORCE INDEX (PRIMARY) WHERE id IN";
/// After a minute they do not count: perhaps this release cannot read them, or their webhook is paused.
constexpr std::string_view due_lately =
    "AND estado = 'pendiente'"
    " AND proximo_intento BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE AND UTC_TIMESTAMP(3)";

constexpr std::string_view oldest_waiting = R"sql(
  SELECT id, webhook_id FROM entregas FORCE INDEX (entregas_por_adelantar)
  WHERE reintento_de = ? AND adelantada = 0 AND id > ? AND proximo_intento > UTC_TIMESTAMP(3) ORDER BY id LIMIT ?)sql";

/// Deliveries with a running Retry-After come after the others. Last come those of which no attempt would be
/// made: the notification is sent no more, or only a newer release knows the event.
constexpr std::string_view with_latest_attempt = R"sql(
  SELECT e.id, e.webhook_id
  FROM ((SELECT id, webhook_id, notificacion_id, intentos, no_antes, evento
         FROM entregas FORCE INDEX (entregas_por_adelantar)
         WHERE reintento_de = ? AND adelantada = 0 ORDER BY id LIMIT 100)
        UNION ALL
        (SELECT id, webhook_id, notificacion_id, intentos, no_antes, evento
         FROM entregas FORCE INDEX (entregas_por_adelantar)
         WHERE reintento_de = ? AND adelantada = 1 ORDER BY id LIMIT 100)) e
  LEFT JOIN intentos_entrega i ON i.entrega_id = e.id AND i.numero = e.intentos
  LEFT JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  ORDER BY )sql";
constexpr std::string_view untried_for_longest = R"sql( OR COALESCE(FIND_IN_SET(e.evento, ?) = 0, FALSE),
    COALESCE(e.no_antes > UTC_TIMESTAMP(3), FALSE), i.inicio, e.id
  LIMIT 1)sql";
constexpr auto longest_untried = joined<with_latest_attempt, sent_no_more, untried_for_longest>;

/// Only what is due later: an attempt that the schedule has made due stays one of the schedule.
constexpr std::string_view that_wait =
    "AND estado = 'pendiente' AND proximo_intento > UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED";
/// A release up to 0.2.0 claims without a look at `prevista`, and sets `tipo`: where `prevista` is before
/// `proximo_intento`, it is out of date. MariaDB and MySQL assign from left to right.
constexpr std::string_view make_due_early = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', kind VARCHAR(10) PATH '$[1]')) j
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = j.id
  SET e.prevista = GREATEST(COALESCE(e.prevista, e.proximo_intento), e.proximo_intento), e.tipo = j.kind,
    e.adelantada = e.adelantada OR j.kind = 'adelantado',
    e.proximo_intento =
      LEAST(e.proximo_intento, GREATEST(UTC_TIMESTAMP(3), COALESCE(e.no_antes, UTC_TIMESTAMP(3))))
  WHERE e.estado = 'pendiente')sql";

constexpr std::string_view executions_to_lock =
    "SELECT webhook_id, CAST(adelantar_en AS CHAR) AS desde"
    " FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id IN";
constexpr std::string_view while_early = "AND adelantar_en <= UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED";
constexpr std::string_view move_early = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', again_us BIGINT PATH '$[1]')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id
  SET x.adelantar_en = UTC_TIMESTAMP(3) + INTERVAL j.again_us MICROSECOND)sql";

/// A new value of adelantar_en.
struct Move {
  std::optional<Milliseconds> again;  // from now; unset: NULL
};

/// What a step does with one webhook.
struct Planned {
  WebhookId webhook;
  Forwarded known;
  AttemptKind kind = AttemptKind::early;
  unsigned room = 0;            // how many deliveries may become due
  std::vector<DeliveryId> ids;  // those that are to become due
  std::optional<Move> move;
};
using Plan = std::vector<Planned>;  // sorted by webhook

Planned& find(Plan& plan, WebhookId webhook) {
  return *std::ranges::lower_bound(plan, webhook, {}, &Planned::webhook);
}

/// Reads the next webhooks, and leaves out those that wait.
Plan read_step(Session& session, ForwardWalk& walk) {
  const auto rows = session.query(next_webhooks, walk.since, walk.since, walk.after, webhooks_per_step);
  const auto from = std::pair(walk.since, walk.after);
  Plan plan;
  const auto now = monotonic_now();
  for (const auto& row : rows) {
    walk.after = row.integer("webhook_id");
    walk.since = row.time("desde");
    auto& known = walk.known[walk.after] = walk.before[walk.after];
    if (known.since != walk.since) known = {.since = walk.since, .due = std::move(known.due)};
    if (now >= known.not_before)
      plan.push_back({.webhook = walk.after, .known = known, .ids = {}, .move = {}});
  }
  walk.webhooks += rows.size();
  // A time that the calendar lacks reads as an early one, from which the walk would begin again.
  walk.done = rows.size() < webhooks_per_step || std::pair(walk.since, walk.after) <= from;
  std::ranges::sort(plan, {}, &Planned::webhook);
  return plan;
}

/// Finds out how many deliveries of each webhook may become due.
void plan_room(Session& session, const ForwardLimits& limits, Plan& plan) {
  std::vector<WebhookId> webhooks;
  std::vector<DeliveryId> brought;
  for (const auto& one : plan) {
    webhooks.push_back(one.webhook);
    std::ranges::copy(one.known.due, std::back_inserter(brought));
  }
  std::ranges::sort(brought);
  const auto untried = ids_in<DeliveryId, std::set>(query_ids(session, still_pending, brought, due_lately));
  for (auto& one : plan) {
    one.move = Move{};  // unless the webhook may receive
    const auto tried = std::erase_if(one.known.due, [&](DeliveryId id) { return !untried.contains(id); });
    if (tried > 0) one.known.wait = {};
  }
  for (const auto& webhook : load_receiving(session, webhooks)) {
    auto& one = find(plan, webhook.target.webhook);
    const auto due = static_cast<unsigned>(one.known.due.size());
    if (webhook.failing) one.kind = AttemptKind::probe;
    if (webhook.rest.count() > 0) {
      one.move = Move{std::min(webhook.rest, longest_rest)};
    } else if (!webhook.failing) {
      one.move.reset();
      one.room = limits.most_due - std::min(due, limits.most_due);
    } else if (limits.probe_interval.count() > 0) {
      one.move = Move{limits.probe_interval};
      one.room = 1;
    }
  }
}

/// Finds the deliveries of the recovered webhooks. The recovery of a webhook ends when a search from the
/// first delivery finds none.
void plan_recoveries(Session& session, Plan& plan) {
  std::vector<Seek> seeks;
  for (const auto& one : plan) {
    if (one.kind == AttemptKind::early && one.room > 0)
      seeks.push_back({Parameter(one.webhook), Parameter(one.known.after), Parameter(one.room)});
  }
  const Seek none{Parameter(-1), Parameter(0), Parameter(0)};
  for (const auto& row : query_seeks(session, oldest_waiting, seeks, none, webhooks_per_step))
    find(plan, row.integer("webhook_id")).ids.push_back(row.integer("id"));
  for (auto& one : plan) {
    if (one.kind != AttemptKind::early || one.room == 0) continue;
    if (one.ids.empty() && one.known.after == DeliveryId(0)) one.move = Move{};
    one.known.after = one.ids.size() < one.room ? DeliveryId(0) : one.ids.back();
  }
}

std::string known_events() {
  webhook::EventSet events;
  for (const auto event : webhook::all_events()) events.insert(event);
  return events.joined();
}

/// Finds the probes of the failing webhooks. One without deliveries that wait gets no more probes.
void plan_probes(Session& session, Plan& plan) {
  const Parameter events(known_events());
  std::vector<Seek> seeks;
  for (const auto& one : plan) {
    if (one.kind == AttemptKind::probe && one.room > 0)
      seeks.push_back({Parameter(one.webhook), Parameter(one.webhook), events});
  }
  const Seek none{Parameter(-1), Parameter(-1), events};
  for (const auto& row : query_seeks(session, longest_untried, seeks, none, webhooks_per_step))
    find(plan, row.integer("webhook_id")).ids.push_back(row.integer("id"));
  for (auto& one : plan) {
    if (one.kind == AttemptKind::probe && one.room > 0 && one.ids.empty()) one.move = Move{};
  }
}

/// What was done of a plan.
struct Done {
  std::set<DeliveryId> due;   // deliveries that became due
  std::set<WebhookId> moved;  // webhooks with a new value of adelantar_en
};

/// Locks what the plan concerns, and makes the deliveries due that are free and wait. With a single webhook,
/// those that the database refuses are left out, and `refusal` names one.
std::set<DeliveryId> make_due(Session& session, const Plan& part, const std::set<WebhookId>& left,
                              std::string& refusal) {
  std::map<DeliveryId, AttemptKind> wanted;  // sorted: every session locks in the same order
  for (const auto& one : part) {
    if (left.contains(one.webhook)) continue;
    for (const auto id : one.ids) wanted.emplace(id, one.kind);
  }
  std::vector<DeliveryId> ids;
  ids.reserve(wanted.size());
  for (const auto& [id, kind] : wanted) ids.push_back(id);
  std::set<DeliveryId> changed;
  const auto change = [&](const std::vector<DeliveryId>& some) {
    json::Array rows;
    for (const auto id : some) rows.push_back(json::Array{id, name(wanted.at(id))});
    const auto count = session.update(without_waiting<make_due_early>, json::dump(rows));
    changed.insert(some.begin(), some.end());
    return count;
  };
  const auto free = lock_free_deliveries(session, ids, that_wait);
  if (part.size() == 1)
    change_accepted(free, "delivery", refusal, change);
  else if (!free.empty())
    change(free);
  return changed;
}

/// Carries a part of the plan out, in one transaction. A probe and the time of the next one change together.
/// A webhook of which another session has locked or changed the row is left as it is.
Done carry_out(Session& session, const Plan& part, std::string& refusal) {
  return transaction(session, [&] {
    std::set<WebhookId> left;
    for (const auto& one : part) {
      if (one.move) left.insert(one.webhook);
    }
    for (const auto& row : query_ids(session, executions_to_lock, {left.begin(), left.end()}, while_early)) {
      const auto& one = *std::ranges::find(part, WebhookId(row.integer("webhook_id")), &Planned::webhook);
      if (row.time("desde") == one.known.since) left.erase(one.webhook);
    }
    Done done{.due = make_due(session, part, left, refusal), .moved = {}};
    json::Array rows;
    for (const auto& one : part) {
      if (!one.move || left.contains(one.webhook)) continue;
      if (!one.ids.empty() && !done.due.contains(one.ids.front())) continue;  // the probe was not made due
      done.moved.insert(one.webhook);
      rows.push_back(json::Array{one.webhook, microseconds(one.move->again)});
    }
    if (!rows.empty()) session.update(without_waiting<move_early>, json::dump(rows));
    return done;
  });
}

/// Notes what was done of the webhook. If that is nothing, the next visit comes later each time.
void note(const Planned& one, const Done& done, bool refused, ForwardWalk& walk) {
  if (done.moved.contains(one.webhook)) {
    walk.known.erase(one.webhook);
  } else {
    auto& known = walk.known[one.webhook] = one.known;
    const auto before = known.due.size();
    std::ranges::copy_if(one.ids, std::back_inserter(known.due),
                         [&](DeliveryId id) { return done.due.contains(id); });
    known.wait = known.due.size() > before ? Milliseconds{}
                 : refused                 ? longest_wait
                                           : std::clamp(2 * known.wait, shortest_wait, longest_wait);
    known.not_before = monotonic_now() + known.wait;
  }
  if (std::ranges::any_of(one.ids, [&](DeliveryId id) { return done.due.contains(id); }))
    walk.due.push_back(one.webhook);
}

}  // namespace

void bring_forward(Session& session, const ForwardLimits& limits, ForwardWalk& walk) {
  auto plan = read_step(session, walk);
  if (plan.empty()) return;
  plan_room(session, limits, plan);
  plan_recoveries(session, plan);
  plan_probes(session, plan);
  std::erase_if(plan, [&](const Planned& one) {
    const bool nothing = !one.move && one.ids.empty();
    if (nothing) note(one, {}, false, walk);
    return nothing;
  });
  if (plan.empty()) return;
  isolate(
      plan,
      [&](const Plan& part) {
        std::string refusal;
        const auto done = carry_out(session, part, refusal);
        for (const auto& one : part) note(one, done, !refusal.empty(), walk);
        if (!refusal.empty()) walk.refusal = std::move(refusal);
      },
      [&](const Planned& one, const DatabaseError& error) {
        note(one, {}, is_refused(error), walk);
        if (is_refused(error)) walk.refusal = "webhook " + to_string(one.webhook) + ": " + error.what();
      },
      [&](const DatabaseError& error) { return is_refused(error) || is_locked_place(session, error); });
}

}  // namespace store
