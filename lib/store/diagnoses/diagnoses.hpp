// Table `diagnosticos`: the diagnosis of a receiver, as its entity asks for it and sees it, and as a
// dispatcher carries it out under a lease (docs/delivery.md#diagnosis).
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/event.hpp"

namespace store {

/// limits.diagnostics: the entity has asked as often as it may; once more passes in so many seconds.
struct TooManyDiagnoses : std::runtime_error {
  explicit TooManyDiagnoses(unsigned retry_after_s_)
      : std::runtime_error("too many diagnoses"), retry_after_s(retry_after_s_) {}
  unsigned retry_after_s;
};

enum class DiagnosisAsked { done, not_found, disabled };
struct AskedDiagnosis {
  DiagnosisAsked result = DiagnosisAsked::done;
  std::string state{};  // pendiente, en_curso; of `done`
};
/// In place of the webhook's last one, with an entry in the audit; one that is not over stays, and nothing
/// counts. `disabled`: by the operator. `max_per_hour` 0: no limit. Throws TooManyDiagnoses.
AskedDiagnosis ask_diagnosis(Session& session, const Author& author, std::string_view entity_name,
                             WebhookId webhook, unsigned max_per_hour);

struct Diagnosis {
  std::string state;               // pendiente, en_curso, terminado, fallido
  std::optional<UtcTime> started;  // none: pendiente
  std::string findings;            // JSON; empty: not over, or lost with its dispatcher
};
/// The webhook's last one.
std::optional<Diagnosis> find_diagnosis(Session& session, WebhookId webhook);

/// What a diagnosis needs to know of its webhook.
struct DiagnosisTarget {
  Target target;
  EntityId entity = 0;
  std::string entity_name;
  std::optional<webhook::Event> event{};  // one of the webhook's; none: a newer version's alone
  bool probing = false;                   // its last attempt failed in transport or with 429 or 503
  bool diagnosable = false;               // false: deleted, or disabled by the operator, or its entity is
  bool overdue = false;                   // it was asked for an hour ago
};
/// Those that wait for a dispatcher, by webhook, of those above `after`.
std::vector<DiagnosisTarget> find_asked_diagnoses(Session& session, WebhookId after, unsigned limit);

// A lease is a random token, and as long as that of a delivery. What follows waits for no lock: a row that
// another session holds is as if its lease were lost.

/// False: another dispatcher has it.
bool claim_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease, platform::Milliseconds length);
/// Renewed, and its webhook as it is now; nullopt: the lease is lost.
std::optional<DiagnosisTarget> renew_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                               platform::Milliseconds length);
/// Nothing was sent: it waits again.
void release_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease);
/// False: the lease is lost. `state`: terminado or fallido.
bool finish_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease, std::string_view state,
                      std::string_view findings);
/// One that waits, and can never begin.
void fail_asked_diagnosis(Session& session, WebhookId webhook, std::string_view findings);

/// Forgets a batch of those that were asked for so long ago; how many.
std::uint64_t forget_old_diagnoses(Session& session, platform::Milliseconds kept);

}  // namespace store
