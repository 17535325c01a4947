#include "lib/store/deliveries/claim_early.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lib/store/deliveries/lease_candidates.hpp"
#include "lib/store/session/json_rows.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/union_all.hpp"
#include "lib/webhook/event.hpp"

namespace store {

namespace {

using delivery::AttemptKind;
using platform::Milliseconds;

/// The number of webhooks in one statement.
constexpr std::size_t webhooks_per_statement = 16;
/// A call passes over deliveries with a running Retry-After. So it reads, for each request, this many
/// deliveries more than EarlyRequest::limit.
constexpr unsigned passed_over = 32;

constexpr std::string_view early_webhooks = R"sql(
  SELECT webhook_id, CAST(adelantar_en AS CHAR) AS desde, ultimo_error <> '' AS falla
  FROM webhook_ejecuciones FORCE INDEX (ejecuciones_por_adelantar)
  WHERE adelantar_en BETWEEN ? AND UTC_TIMESTAMP(3) AND (adelantar_en > ? OR webhook_id > ?)
  ORDER BY adelantar_en, webhook_id LIMIT ?)sql";

constexpr std::string_view lock_executions =
    "SELECT webhook_id, CAST(adelantar_en AS CHAR) AS desde"
    " FROM webhook_ejecuciones FORCE INDEX (PRIMARY) WHERE webhook_id IN";
constexpr std::string_view while_early = "AND adelantar_en <= UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED";
constexpr std::string_view move_early = R"sql(
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', again_us BIGINT PATH '$[1]')) j
  STRAIGHT_JOIN webhook_ejecuciones x FORCE INDEX (PRIMARY) ON x.webhook_id = j.id
  SET x.adelantar_en = UTC_TIMESTAMP(3) + INTERVAL j.again_us MICROSECOND)sql";

constexpr std::string_view waiting_deliveries = R"sql(
  SELECT id, webhook_id,
    GREATEST(0, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), no_antes), 0)) DIV 1000 AS falta_ms
  FROM entregas FORCE INDEX (entregas_por_adelantar)
  WHERE reintento_de = ? AND adelantada = 0 AND id > ? ORDER BY id LIMIT ?)sql";

/// Finds the delivery with which to probe a webhook: the one with the earliest last attempt. Considers only
/// deliveries that wait for a retry: the 100 oldest that had an early attempt, and the 100 oldest that had
/// none. Deliveries with a running Retry-After come after the others. Deliveries with an event that only a
/// newer release knows come last, because they cannot be sent and would be found each time.
constexpr std::string_view longest_untried = R"sql(
  SELECT e.id, e.webhook_id, COALESCE(e.no_antes > UTC_TIMESTAMP(3), FALSE) AS descansa,
    NOT COALESCE(FIND_IN_SET(e.evento, ?), TRUE) AS desconocida
  FROM ((SELECT id, webhook_id, intentos, no_antes, evento FROM entregas FORCE INDEX (entregas_por_adelantar)
         WHERE reintento_de = ? AND adelantada = 0 ORDER BY id LIMIT 100)
        UNION ALL
        (SELECT id, webhook_id, intentos, no_antes, evento FROM entregas FORCE INDEX (entregas_por_adelantar)
         WHERE reintento_de = ? AND adelantada = 1 ORDER BY id LIMIT 100)) e
  LEFT JOIN intentos_entrega i ON i.entrega_id = e.id AND i.numero = e.intentos
  ORDER BY desconocida, descansa, i.inicio, e.id LIMIT 1)sql";

struct Waiting {
  DeliveryId id;
  Milliseconds asked;  // time left of a running Retry-After; zero without one
};

std::map<WebhookId, std::vector<Waiting>> find_waiting(Session& session,
                                                       const std::vector<EarlyRequest>& requests) {
  std::vector<Seek> seeks;
  seeks.reserve(requests.size());
  for (const auto& request : requests)
    seeks.push_back(
        {Parameter(request.webhook), Parameter(request.after), Parameter(request.limit + passed_over)});
  const Seek none{Parameter(-1), Parameter(0), Parameter(0)};
  std::map<WebhookId, std::vector<Waiting>> result;
  for (const auto& row : query_seeks(session, waiting_deliveries, seeks, none, webhooks_per_statement))
    result[row.integer("webhook_id")].push_back({row.integer("id"), Milliseconds(row.integer("falta_ms"))});
  return result;
}

/// Adds to `candidates` the deliveries that may be sent, up to the request's limit.
EarlyClaim::Reach pick(const EarlyRequest& request, const std::vector<Waiting>& waiting,
                       std::vector<LeaseCandidate>& candidates) {
  EarlyClaim::Reach reach{request.webhook, request.after, false, false, {}, false};
  unsigned taken = 0;
  for (const auto& delivery : waiting) {
    if (taken == request.limit) {
      reach.more = true;
      return reach;
    }
    reach.last = delivery.id;
    if (delivery.asked.count() > 0) {
      reach.asked = std::min(reach.asked.value_or(delivery.asked), delivery.asked);
    } else {
      candidates.push_back({delivery.id, request.webhook});
      ++taken;
    }
  }
  reach.more = waiting.size() == request.limit + passed_over;
  return reach;
}

struct Probe {
  std::optional<LeaseCandidate> candidate;  // unset: none of the considered deliveries can be sent now
  bool unreadable = false;                  // every considered delivery has an event of a newer release
};

std::string known_events() {
  webhook::EventSet events;
  for (const auto event : webhook::all_events()) events.insert(event);
  return events.joined();
}

/// Returns an entry for each webhook with deliveries that wait for a retry.
std::map<WebhookId, Probe> find_probes(Session& session, const std::vector<EarlyWebhook>& webhooks) {
  std::vector<Seek> seeks;
  seeks.reserve(webhooks.size());
  const Parameter known(known_events());
  for (const auto& webhook : webhooks) seeks.push_back({known, Parameter(webhook.id), Parameter(webhook.id)});
  const Seek none{known, Parameter(-1), Parameter(-1)};
  std::map<WebhookId, Probe> result;
  for (const auto& row : query_seeks(session, longest_untried, seeks, none, webhooks_per_statement)) {
    auto& probe = result[row.integer("webhook_id")];
    probe.unreadable = row.boolean("desconocida");
    if (!probe.unreadable && !row.boolean("descansa"))
      probe.candidate = LeaseCandidate{row.integer("id"), row.integer("webhook_id")};
  }
  return result;
}

}  // namespace

std::vector<EarlyWebhook> find_early(Session& session, UtcTime since, WebhookId after, unsigned limit) {
  std::vector<EarlyWebhook> result;
  for (const auto& row : session.query(early_webhooks, since, since, after, limit))
    result.push_back({row.time("desde"), row.integer("webhook_id"), row.boolean("falla")});
  return result;
}

std::vector<WebhookId> change_early(Session& session, const std::vector<EarlyChange>& changes) {
  if (changes.empty()) return {};
  std::map<WebhookId, const EarlyChange*> wanted;  // by id: every session locks in the same order
  std::vector<WebhookId> ids;
  for (const auto& change : changes) wanted.emplace(change.webhook.id, &change);
  ids.reserve(wanted.size());
  for (const auto& [id, change] : wanted) ids.push_back(id);
  return transaction(session, [&] {
    std::vector<WebhookId> changed;
    json::Array rows;
    for (const auto& row : query_ids(session, lock_executions, ids, while_early)) {
      const auto& change = *wanted.at(row.integer("webhook_id"));
      if (row.time("desde") != change.webhook.since) continue;
      changed.push_back(change.webhook.id);
      rows.push_back(json::Array{change.webhook.id, microseconds(change.again)});
    }
    if (!rows.empty()) session.update(move_early, json::dump(rows));
    return changed;
  });
}

EarlyClaim claim_early(Session& session, const std::vector<EarlyRequest>& requests, const Lease& lease) {
  const auto waiting = find_waiting(session, requests);
  EarlyClaim result;
  std::vector<LeaseCandidate> candidates;
  for (const auto& request : requests) {
    const auto found = waiting.find(request.webhook);
    result.reached.push_back(
        pick(request, found == waiting.end() ? std::vector<Waiting>{} : found->second, candidates));
  }
  auto leased = lease_candidates(session, candidates, AttemptKind::early, lease);
  // The first delivery of each webhook that the limit bytes_per_claim leaves pending. The next call begins
  // with that delivery.
  std::map<WebhookId, DeliveryId> put_off;
  for (const auto& candidate : candidates) {
    if (leased.put_off.contains(candidate.id)) put_off.try_emplace(candidate.webhook, candidate.id);
  }
  for (auto& reach : result.reached) {
    reach.skipped = leased.skipped.contains(reach.webhook);
    reach.unreadable = leased.unreadable.contains(reach.webhook);
    const auto first = put_off.find(reach.webhook);
    if (first == put_off.end()) continue;
    reach.last = first->second.previous();
    reach.more = true;
  }
  result.leased = std::move(leased.leased);
  return result;
}

ProbeClaim claim_probes(Session& session, const std::vector<EarlyWebhook>& webhooks, Milliseconds interval,
                        const Lease& lease) {
  const auto found = find_probes(session, webhooks);
  ProbeClaim result;
  std::vector<EarlyChange> changes;
  changes.reserve(webhooks.size());
  for (const auto& webhook : webhooks) {
    const auto probe = found.find(webhook.id);
    if (probe != found.end() && probe->second.unreadable)
      result.left.push_back(webhook.id);
    else
      changes.push_back({webhook, probe != found.end() ? std::optional(interval) : std::nullopt});
  }
  // One transaction sets the times of the next probes and leases. So if leasing throws, the times are rolled
  // back, and the webhooks do not wait another interval.
  result.leased = transaction(session, [&] {
    std::vector<LeaseCandidate> candidates;
    for (const auto id : change_early(session, changes)) {
      const auto probe = found.find(id);
      if (probe != found.end() && probe->second.candidate) candidates.push_back(*probe->second.candidate);
    }
    return lease_candidates(session, candidates, AttemptKind::probe, lease).leased;
  });
  return result;
}

}  // namespace store
