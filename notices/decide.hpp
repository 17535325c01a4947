// Decides what must be told (web/docs/alertas-por-correo.md). Pure: values in, notices out. What has been
// told already is decided again; the episodes of the notices tell them apart (store::add_notices).
#pragma once

#include <string>
#include <vector>

#include "lib/store/notices/facts.hpp"
#include "lib/store/notices/notices.hpp"

namespace notices {

struct Moment {
  platform::UtcTime now;                   // of the database
  const store::OutageTimes& outages;       // does not count towards an hour of failures or a deactivation
  platform::Milliseconds disable_after{};  // delivery.disable_after; 0: never
};

/// Deliveries of a webhook that became `fallida` on `day`.
struct FailedOfDay {
  store::WebhookId webhook;
  std::chrono::sys_days day;
  std::int64_t deliveries;  // more than 0
};

/// What the tables say of some entities.
struct Facts {
  std::vector<store::WebhookFacts> webhooks{};
  std::vector<store::TokenFacts> tokens{};
  std::vector<store::ToldFailure> told{};
  std::vector<FailedOfDay> failed{};
};

/// Returns the notices to the confirmed ones of `contacts`, of the kinds that each wants.
std::vector<store::NewNotice> decide(const std::vector<store::NoticeContact>& contacts, const Facts& facts,
                                     const Moment& moment);

/// The notice with the code that confirms an address.
store::NewNotice code_notice(const store::WaitingCode& code);

/// The times ahead of the end of a certificate or a token at which it is told.
inline constexpr std::chrono::days first_warning{14};
inline constexpr std::chrono::days last_warning{3};

}  // namespace notices
