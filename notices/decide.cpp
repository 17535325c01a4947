#include "notices/decide.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lib/json/json.hpp"
#include "lib/store/session/datetime.hpp"
#include "lib/store/webhooks/failing.hpp"

namespace notices {

namespace {

using contacts::Kind;
using platform::format_iso8601;
using platform::UtcTime;
using store::NewNotice;
using store::NoticeContact;
using store::TokenFacts;
using store::WebhookFacts;
using namespace std::chrono_literals;

/// So long a notice waits for others of its contact: they become one mail.
constexpr platform::Milliseconds gather_time = 1min;
constexpr platform::Milliseconds failing_time = 1h;
/// One failure alone says little: its delivery may have been cancelled.
constexpr std::int64_t least_failures = 2;
constexpr platform::Milliseconds before_secret_ends = 24h;
/// What is older is told to no one: not to a new contact, nor again once its notice is forgotten.
constexpr std::chrono::days told_within{7};
static_assert(told_within < store::notices_kept);

json::Object about(const WebhookFacts& webhook) {
  return {{"webhook", webhook.id}, {"nombre", webhook.name}, {"host", webhook.host}};
}

NewNotice of_webhook(Kind kind, const WebhookFacts& webhook, const std::string& episode, json::Object more) {
  auto data = about(webhook);
  for (auto& member : more) data.push_back(std::move(member));
  return {.contact = {},
          .entity = webhook.entity,
          .webhook = webhook.id,
          .kind = std::string(name(kind)),
          .episode = "w" + to_string(webhook.id) + ' ' + episode,
          .data = json::dump(std::move(data)),
          .delay = gather_time};
}

/// The notices of a failure streak, the gravest first: a contact gets the first that it wants.
std::vector<NewNotice> of_streak(const WebhookFacts& webhook, const Moment& moment) {
  std::vector<NewNotice> stages;
  if (!webhook.active || !webhook.failing_since || webhook.failures < least_failures) return stages;
  const auto since = *webhook.failing_since;
  const auto failing = (moment.now - since) - moment.outages.since(since);
  const auto start = format_iso8601(since);
  json::Object facts{{"desde", start}, {"error", webhook.last_error}};
  if (moment.disable_after.count() > 0)
    facts.emplace_back("desactivacion",
                       format_iso8601(since + moment.disable_after + moment.outages.since(since)));
  const auto near = [&](std::string_view part) {
    auto more = facts;
    more.emplace_back("parte", part);
    stages.push_back(
        of_webhook(Kind::deactivation_near, webhook, start + ' ' + std::string(part), std::move(more)));
  };
  const auto reached = [&](platform::Milliseconds stage) {
    return failing >= stage && failing < stage + told_within;
  };
  const bool counts = moment.disable_after.count() > 0 && webhook.failures >= store::min_failures_to_disable;
  if (counts && reached(moment.disable_after * 9 / 10)) near("nueve_decimos");
  if (counts && reached(moment.disable_after / 2)) near("mitad");
  if (reached(failing_time)) stages.push_back(of_webhook(Kind::failing, webhook, start, facts));
  return stages;
}

std::optional<NewNotice> of_deactivation(const WebhookFacts& webhook, UtcTime now) {
  // An entity knows what it has deactivated itself.
  if (webhook.active || !webhook.deactivated || webhook.reason == "entidad") return std::nullopt;
  if (now - *webhook.deactivated >= told_within) return std::nullopt;
  const auto at = format_iso8601(*webhook.deactivated);
  return of_webhook(Kind::deactivated, webhook, at, {{"motivo", webhook.reason}, {"cuando", at}});
}

/// The warning that is due before `end`: how many days ahead; nullopt: none is.
std::optional<int> due_warning(UtcTime end, UtcTime now) {
  const auto left = end - now;
  if (left <= 0ms || left > first_warning) return std::nullopt;
  return static_cast<int>((left > last_warning ? first_warning : last_warning).count());
}

std::optional<NewNotice> of_certificate(const WebhookFacts& webhook, UtcTime now) {
  if (!webhook.active || !webhook.certificate) return std::nullopt;
  const auto days = due_warning(*webhook.certificate, now);
  if (!days) return std::nullopt;
  const auto end = format_iso8601(*webhook.certificate);
  return of_webhook(Kind::certificate, webhook, end + ' ' + std::to_string(*days), {{"caduca", end}});
}

std::optional<NewNotice> of_secret(const WebhookFacts& webhook, UtcTime now) {
  if (!webhook.previous_until || *webhook.previous_until <= now ||
      *webhook.previous_until - now > before_secret_ends)
    return std::nullopt;
  // A grace no longer than the warning needs none: who has begun it knows its end.
  if (*webhook.previous_until - webhook.changed <= before_secret_ends) return std::nullopt;
  const auto end = format_iso8601(*webhook.previous_until);
  return of_webhook(Kind::secret, webhook, end, {{"hasta", end}});
}

std::optional<NewNotice> of_token(const TokenFacts& token, UtcTime now) {
  const auto days = due_warning(token.expires, now);
  // A token that lives no longer than the warning comes ahead needs none.
  if (!days || token.expires - token.created <= std::chrono::days(*days)) return std::nullopt;
  const auto end = format_iso8601(token.expires);
  return NewNotice{
      .contact = {},
      .entity = token.entity,
      .webhook = {},
      .kind = std::string(name(Kind::token)),
      .episode = "t" + to_string(token.id) + ' ' + end + ' ' + std::to_string(*days),
      .data = json::dump(json::Object{{"token", token.id}, {"etiqueta", token.label}, {"caduca", end}}),
      .delay = gather_time};
}

NewNotice of_failed(const WebhookFacts& webhook, const FailedOfDay& failed) {
  const auto day = format_iso8601(failed.day).substr(0, 10);
  return of_webhook(Kind::failed_deliveries, webhook, day, {{"dia", day}, {"entregas", failed.deliveries}});
}

bool works(const WebhookFacts& webhook) {
  return webhook.active && webhook.failures == 0 && webhook.worked_at && webhook.last_error.empty();
}

/// What an entity is told, the same for all its contacts but for the kinds that each wants.
class Bulletin {
 public:
  void add(const WebhookFacts& webhook, const Moment& moment) {
    if (auto stages = of_streak(webhook, moment); !stages.empty()) streaks_.push_back(std::move(stages));
    for (auto notice : {of_deactivation(webhook, moment.now), of_certificate(webhook, moment.now),
                        of_secret(webhook, moment.now)})
      if (notice) others_.push_back(std::move(*notice));
  }
  void add(std::optional<NewNotice> notice) {
    if (notice) others_.push_back(std::move(*notice));
  }
  void tell(const NoticeContact& contact, std::vector<NewNotice>& all) const {
    const auto wanted = [&](const NewNotice& notice) {
      const auto kind = contacts::find_kind(notice.kind);
      return kind && contact.kinds.contains(*kind);
    };
    const auto give = [&](NewNotice notice) {
      notice.contact = contact.id;
      all.push_back(std::move(notice));
    };
    for (const auto& stages : streaks_)
      if (const auto first = std::ranges::find_if(stages, wanted); first != stages.end()) give(*first);
    for (const auto& notice : others_)
      if (wanted(notice)) give(notice);
  }

 private:
  std::vector<std::vector<NewNotice>> streaks_;
  std::vector<NewNotice> others_;
};

}  // namespace

std::vector<NewNotice> decide(const std::vector<NoticeContact>& contacts, const Facts& facts,
                              const Moment& moment) {
  std::map<store::EntityId, Bulletin> bulletins;
  std::map<store::WebhookId, const WebhookFacts*> webhooks;
  for (const auto& webhook : facts.webhooks) {
    bulletins[webhook.entity].add(webhook, moment);
    webhooks.emplace(webhook.id, &webhook);
  }
  for (const auto& token : facts.tokens) bulletins[token.entity].add(of_token(token, moment.now));
  for (const auto& failed : facts.failed)
    if (const auto found = webhooks.find(failed.webhook); found != webhooks.end())
      bulletins[found->second->entity].add(of_failed(*found->second, failed));
  std::vector<NewNotice> all;
  std::map<store::ContactId, contacts::KindSet> confirmed;
  for (const auto& contact : contacts) {
    if (!contact.confirmed) continue;
    confirmed.emplace(contact.id, contact.kinds);
    if (const auto found = bulletins.find(contact.entity); found != bulletins.end())
      found->second.tell(contact, all);
  }
  for (const auto& told : facts.told) {
    const auto contact = confirmed.find(told.contact);
    const auto webhook = webhooks.find(told.webhook);
    if (contact == confirmed.end() || !contact->second.contains(Kind::recovered) || webhook == webhooks.end())
      continue;
    if (!works(*webhook->second) || *webhook->second->worked_at <= told.created) continue;
    auto notice = of_webhook(Kind::recovered, *webhook->second, "tras " + to_string(told.notice),
                             {{"cuando", format_iso8601(*webhook->second->worked_at)}});
    notice.contact = told.contact;
    all.push_back(std::move(notice));
  }
  return all;
}

NewNotice code_notice(const store::WaitingCode& code) {
  return {.contact = code.contact,
          .entity = code.entity,
          .webhook = {},
          .kind = std::string(store::code_notice),
          .episode = store::format_datetime(code.issued),
          .data = "{}"};
}

}  // namespace notices
