#include "admin/output/explanation.hpp"

#include <algorithm>

#include "admin/output/queue_alarms.hpp"
#include "lib/webhook/target_url.hpp"

namespace admin {

namespace {

using platform::format_iso8601;
using namespace std::chrono_literals;

constexpr auto longest_unseen = 60s;  // a working dispatcher is seen every 10 s

std::int64_t in_flight_at_host(const Facts& facts) {
  const auto host = webhook::host_and_port(facts.webhook.url);
  return std::ranges::count_if(facts.in_flight, [&](const store::InFlight& delivery) {
    return webhook::host_and_port(delivery.url) == host;
  });
}

/// Adds the causes outside the webhook itself.
void add_wide_causes(const Facts& facts, std::vector<Cause>& causes) {
  const auto& backlog = facts.backlog;
  if (backlog.now - backlog.dispatcher_seen > longest_unseen)
    causes.push_back({"sin_despachador",
                      {},
                      "no dispatcher has been seen since " + format_iso8601(backlog.dispatcher_seen) +
                          ": `systemctl status apientidades-dispatcher`"});
  for (const auto& outage : facts.outages)
    causes.push_back({"corte",
                      {},
                      "this service has an outage (" + outage.kind + ") since " +
                          format_iso8601(outage.since) + ", as dispatcher " + outage.dispatcher +
                          " sees it"});
  if (facts.pauses.everything)
    causes.push_back({"cola_pausada", {}, "all sending is paused: `queue resume` ends that"});
  for (const auto& pause : facts.pauses.parts) {
    if (covers(pause, facts.webhook.entity, facts.webhook.id, facts.webhook.url))
      causes.push_back({"pausa", pause.until,
                        "paused (" + selector_of(pause) + ")" +
                            (pause.reason.empty() ? "" : ": " + pause.reason) + "; `queue resume " +
                            selector_of(pause) + "` ends that"});
  }
  if (!backlog.entity_active)
    causes.push_back({"entidad_desactivada",
                      {},
                      "its entity is disabled: `entity enable " + to_string(facts.webhook.entity) + "`"});
}

void add_own_causes(const Facts& facts, std::vector<Cause>& causes) {
  const auto& [webhook, backlog, pauses, outages, in_flight, keys] = facts;
  if (!webhook.active)
    causes.push_back({"inactivo",
                      {},
                      "it is inactive (" + webhook.inactive_reason.value_or("") + "): `webhook enable " +
                          to_string(webhook.id) +
                          "`, or a PATCH by its entity unless the operator disabled it"});
  if (keys && backlog.secret_key && std::ranges::find(*keys, *backlog.secret_key) == keys->end())
    causes.push_back({"secreto_ilegible",
                      {},
                      "its secret is sealed with key " + *backlog.secret_key +
                          ", which is not in secrets.key_file: put that key back, and reload"});
  if (backlog.rests_until)
    causes.push_back({"descanso", backlog.rests_until,
                      "it rests, because its receiver answered 429 or its secret could not be read"});
}

/// Adds the limits that make due deliveries wait, or `turno` if no limit does. Call this only when there is
/// no other cause.
void add_shares(const Facts& facts, const config::DeliverySettings& settings, std::vector<Cause>& causes) {
  const auto own = in_flight_to(facts);
  const auto at_host = in_flight_at_host(facts);
  const auto all = static_cast<std::int64_t>(facts.in_flight.size());
  if (facts.backlog.one_at_a_time)
    causes.push_back(
        {"sondeo",
         {},
         "its last attempt got 429, 503 or no answer: one attempt at a time until another answer comes (" +
             facts.webhook.last_error + ")"});
  else if (own >= settings.max_in_flight_per_webhook)
    causes.push_back({"limite_webhook",
                      {},
                      std::to_string(own) + " are in flight: delivery.max_in_flight_per_webhook is " +
                          std::to_string(settings.max_in_flight_per_webhook)});
  if (at_host >= settings.max_in_flight_per_host)
    causes.push_back({"limite_host",
                      {},
                      std::to_string(at_host) +
                          " are in flight to its host and port: delivery.max_in_flight_per_host is " +
                          std::to_string(settings.max_in_flight_per_host)});
  if (all >= settings.max_in_flight)
    causes.push_back({"limite_total",
                      {},
                      std::to_string(all) + " are in flight: delivery.max_in_flight is " +
                          std::to_string(settings.max_in_flight)});
  if (causes.empty())
    causes.push_back(
        {"turno",
         {},
         "nothing else holds it up: it is sent in its turn, because entities share the slots fairly"});
}

}  // namespace

std::int64_t in_flight_to(const Facts& facts) {
  return std::ranges::count(facts.in_flight, facts.webhook.id, &store::InFlight::webhook);
}

std::vector<Cause> causes_of(const Facts& facts, const config::DeliverySettings& settings) {
  const auto& backlog = facts.backlog;
  std::vector<Cause> causes;
  add_wide_causes(facts, causes);
  add_own_causes(facts, causes);
  if (backlog.due + backlog.later + backlog.held == 0) return causes;
  if (backlog.due > 0 && causes.empty()) add_shares(facts, settings, causes);
  if (backlog.later > 0)
    causes.push_back({"reintento", backlog.next_attempt,
                      "waits for the next attempt of its schedule (" + facts.webhook.last_error + ")"});
  if (backlog.probe_at && (backlog.later > 0 || backlog.one_at_a_time))
    causes.push_back({"adelanto", backlog.probe_at,
                      "then waiting deliveries are tried ahead of their schedule: one if the last attempt "
                      "failed, else all"});
  if (causes.empty())
    causes.push_back({"retenida", {}, "held; released within a minute after the cause has ended"});
  return causes;
}

Ceiling ceiling_of(const Facts& facts, const config::DeliverySettings& settings) {
  const unsigned limit =
      std::min({settings.max_in_flight_per_webhook, settings.max_in_flight_per_host, settings.max_in_flight});
  Ceiling ceiling{facts.backlog.one_at_a_time ? 1 : limit, facts.backlog.median_ms, {}};
  if (ceiling.each_ms)
    ceiling.per_second =
        1000.0 * ceiling.at_once / static_cast<double>(std::max<std::int64_t>(1, *ceiling.each_ms));
  return ceiling;
}

std::string counted(std::int64_t count) {
  return std::to_string(count) + (count >= store::WebhookBacklog::most_counted ? " or more" : "");
}

}  // namespace admin
