#include "notices/gather.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "notices/decide.hpp"
#include "notices/digest.hpp"
#include "notices/guarded.hpp"

namespace notices {

namespace {

constexpr unsigned contacts_per_page = 500;
constexpr unsigned codes_at_once = 1000;

std::vector<store::EntityId> told_entities(const std::vector<store::NoticeContact>& contacts) {
  std::set<store::EntityId> entities;
  for (const auto& contact : contacts)
    if (contact.confirmed && !contact.kinds.empty()) entities.insert(contact.entity);
  return {entities.begin(), entities.end()};
}

using Days = std::vector<std::chrono::sys_days>;

class Walk {
 public:
  Walk(store::Session& session, const store::NoticeTimes& times, platform::Milliseconds disable_after,
       Days days)
      : session_(session), moment_{times.now, times.outages, disable_after}, days_(std::move(days)) {}

  std::uint64_t take_page(const std::vector<store::NoticeContact>& contacts) {
    Facts facts;
    const auto entities = told_entities(contacts);
    facts.webhooks = store::read_webhook_facts(session_, entities);
    facts.tokens = store::read_ending_tokens(session_, entities, first_warning);
    facts.told = store::read_told_failures(session_, working_webhooks(facts.webhooks));
    facts.failed = count_failed(facts.webhooks);
    return store::add_notices(session_, decide(contacts, facts, moment_));
  }

 private:
  static std::vector<store::WebhookId> working_webhooks(const std::vector<store::WebhookFacts>& webhooks) {
    std::vector<store::WebhookId> ids;
    for (const auto& webhook : webhooks)
      if (webhook.active && webhook.worked_at && webhook.failures == 0) ids.push_back(webhook.id);
    return ids;
  }

  std::vector<FailedOfDay> count_failed(const std::vector<store::WebhookFacts>& webhooks) {
    std::vector<FailedOfDay> all;
    if (days_.empty()) return all;
    std::vector<store::WebhookId> ids;
    for (const auto& webhook : webhooks) ids.push_back(webhook.id);
    for (const auto webhook : store::read_webhooks_with_failed(session_, ids)) {
      for (const auto day : days_) {
        const auto count = store::count_failed(session_, webhook, day, day + std::chrono::days(1));
        if (count > 0) all.push_back({webhook, day, count});
      }
    }
    return all;
  }

  store::Session& session_;
  Moment moment_;
  Days days_;
};

std::string episode_of(std::chrono::sys_days day) { return platform::format_iso8601(day).substr(0, 10); }

/// The days that are yet to be summed up, the last one first: those since the last that was, at most three.
Days due_days(store::Session& session, platform::UtcTime now) {
  constexpr std::size_t most_days = 3;
  Days days;
  for (auto day = std::chrono::floor<std::chrono::days>(now) - std::chrono::days(1); days.size() < most_days;
       day -= std::chrono::days(1)) {
    if (store::has_notice(session, store::operator_contact, store::day_summed_up, episode_of(day))) break;
    days.push_back(day);
  }
  return days;
}

/// Adds the operator's digest, if there is something to tell. Returns false if that fails: the mails go on.
bool add_digest(store::Session& session, const config::Settings& settings, std::chrono::sys_days day,
                const platform::Log& log) {
  if (settings.mail.operator_address.empty()) return true;
  return guarded(log, "the operator's digest was not made; trying again in the next run", [&] {
    if (store::has_notice(session, store::operator_contact, store::digest_notice, episode_of(day))) return;
    if (const auto digest = make_digest(session, day, settings.delivery.disable_after))
      store::add_notices(session, {*digest});
  });
}

/// store::take_mail discards this notice at once.
void note_summed_up(store::Session& session, std::chrono::sys_days day) {
  store::add_notices(session, {{.contact = store::operator_contact,
                                .entity = {},
                                .webhook = {},
                                .kind = std::string(store::day_summed_up),
                                .episode = episode_of(day),
                                .data = "{}"}});
}

}  // namespace

std::uint64_t gather_codes(store::Session& session, const platform::Log& log) {
  std::uint64_t added = 0;
  guarded(log, "the mails with codes were not decided; trying again in seconds", [&] {
    std::vector<store::NewNotice> codes;
    for (const auto& code : store::read_waiting_codes(session, codes_at_once))
      codes.push_back(code_notice(code));
    added = store::add_notices(session, codes);
  });
  return added;
}

std::uint64_t gather(store::Session& session, const config::Settings& settings,
                     const platform::StopSignal& stop, const platform::Log& log) {
  std::uint64_t added = gather_codes(session, log);
  const auto times = store::read_notice_times(session);
  if (!times.begins) {
    log.info("no notices begin: an outage of ours lasts, or the database's clock is in doubt");
    return added;
  }
  guarded(log, "old notices were not given up", [&] { store::give_up_old(session); });
  guarded(log, "notices of what has ended were not discarded", [&] { store::discard_ended(session); });
  guarded(log, "old notices were not deleted", [&] { store::forget_old_notices(session); });
  const auto days = due_days(session, times.now);
  bool complete = true;
  Walk walk(session, times, settings.delivery.disable_after, days);
  for (store::EntityId after = 0;;) {
    const auto page = store::read_contacts_page(session, after, contacts_per_page);
    if (page.empty()) break;
    after = page.back().entity;
    const auto failure = "notices of the entities " + to_string(page.front().entity) + " to " +
                         to_string(after) + " were not decided; trying again in the next run";
    complete = guarded(log, failure, [&] { added += walk.take_page(page); }) && complete;
    if (stop.requested()) return added;
  }
  if (!days.empty()) {
    // Also if a page fails, which may be for good.
    const bool told = add_digest(session, settings, days.front(), log);
    if (complete && told) note_summed_up(session, days.front());
  }
  return added;
}

}  // namespace notices
