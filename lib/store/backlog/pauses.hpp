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
  std::string object;                          // an id, or a host as webhook::comparable_host returns it
  std::optional<UtcTime> until;                // unset: until resume_part()
  std::optional<platform::Milliseconds> left;  // the time until `until`, by the database's clock
  UtcTime since;
  std::string reason;
  bool operator==(const Pause& other) const {
    return what == other.what && object == other.object && until == other.until;
  }
};
/// Whether the pause, while it lasts, stops what is sent to this webhook at `url`.
bool covers(const Pause& pause, EntityId entity, WebhookId webhook, std::string_view url);

struct Pauses {
  bool everything;           // true: the operator has paused the whole queue
  std::vector<Pause> parts;  // pauses that have not ended
};
/// Reads the pauses by one statement. A dispatcher does this at each look at the queue while something is
/// pending, and about once a second otherwise.
Pauses read_pauses(Session& session);

/// Pauses the object, replaces its existing pause, and deletes pauses that have ended. Without `length` the
/// pause lasts until resume_part().
void pause_part(Session& session, Paused what, std::string_view object,
                std::optional<platform::Milliseconds> length, std::string_view reason);
/// Ends the pause of the object. Returns false when the object was not paused.
bool resume_part(Session& session, Paused what, std::string_view object);

}  // namespace store
