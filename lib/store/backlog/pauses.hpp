// Tables `control_envio` and `pausas_envio`: what the operator has paused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

enum class Paused { entity, webhook, host };
/// The spelling in `pausas_envio.tipo`.
std::string_view name(Paused what);

struct Pause {
  Paused what;
  std::string object;                          // an id, or a host as webhook::host_name returns it
  std::optional<UtcTime> until;                // unset: until the operator resumes it
  std::optional<platform::Milliseconds> left;  // the time until then, by the database's clock
  UtcTime since;
  std::string reason;
  bool operator==(const Pause& other) const {
    return what == other.what && object == other.object && until == other.until;
  }
};
struct Pauses {
  bool everything;
  std::vector<Pause> parts;  // those that have not ended
};
/// Sends one statement. A dispatcher calls this in every round in which something is pending.
Pauses read_pauses(Session& session);

/// Replaces a pause of the same object, and deletes pauses that have ended. Without `length` it lasts until
/// it is resumed.
void pause_part(Session& session, Paused what, std::string_view object,
                std::optional<platform::Milliseconds> length, std::string_view reason);
/// Returns false when it was not paused.
bool resume_part(Session& session, Paused what, std::string_view object);

}  // namespace store
