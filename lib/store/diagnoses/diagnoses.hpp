// Table `diagnosticos`: an entity asks for the diagnosis of a receiver and reads the findings; a
// dispatcher carries the diagnosis out under a lease (docs/delivery.md#diagnosis).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/audit/audit.hpp"
#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"
#include "lib/store/webhooks/target.hpp"
#include "lib/webhook/event.hpp"

namespace store {

enum class DiagnosisAsked { done, not_found, disabled };
struct AskedDiagnosis {
  DiagnosisAsked result = DiagnosisAsked::done;
  std::string state{};  // if done: pendiente or en_curso
};
/// Asks for a diagnosis, which replaces the webhook's last one, and notes the request in the audit, unless
/// `noted` is false: an operator's command is noted by itself. If the last diagnosis has not ended, changes
/// and counts nothing. `disabled`: the operator has disabled the webhook. Throws OverQuota over
/// `max_per_hour` (0: no limit).
AskedDiagnosis ask_diagnosis(Session& session, const Author& author, std::string_view entity_name,
                             WebhookId webhook, unsigned max_per_hour, bool noted = true);

struct Diagnosis {
  std::string state;               // pendiente, en_curso, terminado, fallido
  std::optional<UtcTime> started;  // unset: pendiente
  std::string findings;            // JSON; empty: not finished, or its dispatcher's lease has expired
};
/// Reads the webhook's last diagnosis.
std::optional<Diagnosis> find_diagnosis(Session& session, WebhookId webhook);

/// What a diagnosis needs of its webhook.
struct DiagnosisTarget {
  Target target;
  EntityId entity = 0;
  std::string entity_name;
  /// An event that the webhook subscribes to; unset: this release knows none of the webhook's events.
  std::optional<webhook::Event> event{};
  bool diagnosable = false;  // false: webhook deleted or disabled by the operator, or entity disabled
  bool weak_secret = false;
  bool overdue = false;  // the diagnosis was asked for more than an hour ago
};
/// Finds at most `limit` pending diagnoses of webhooks with ids above `after`, in the order of these ids.
std::vector<DiagnosisTarget> find_asked_diagnoses(Session& session, WebhookId after, unsigned limit);

// A diagnosis's lease has a random token, and is as long as a delivery's lease. The functions below wait for
// no lock.

enum class DiagnosisUpdate {
  done,
  locked,  // another session has locked the row, perhaps to claim the diagnosis: try again
  lost,    // the diagnosis does not exist, is not pending (for a claim), or has another lease
};

/// Takes a pending diagnosis under a lease of this length.
DiagnosisUpdate claim_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                platform::Milliseconds length);
/// Extends the lease to this length from now. Returns `lost` also when the lease has expired.
DiagnosisUpdate renew_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                platform::Milliseconds length);
/// Reads the present state of the webhook of a diagnosis; nullopt if there is no diagnosis.
std::optional<DiagnosisTarget> find_diagnosis_target(Session& session, WebhookId webhook);
/// Sets a claimed diagnosis back to pending. It must have sent nothing.
DiagnosisUpdate release_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease);
/// Ends a diagnosis. `state`: terminado or fallido.
DiagnosisUpdate finish_diagnosis(Session& session, WebhookId webhook, std::uint64_t lease,
                                 std::string_view state, std::string_view findings);
/// Fails a pending diagnosis that can never begin.
void fail_asked_diagnosis(Session& session, WebhookId webhook, std::string_view findings);

/// Deletes a batch of diagnoses that were asked for longer than `kept` ago. Returns their number.
std::uint64_t forget_old_diagnoses(Session& session, platform::Milliseconds kept);

}  // namespace store
