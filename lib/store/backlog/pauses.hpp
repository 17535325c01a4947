// Tables `control_envio` and `pausas_envio`: what the operator has stopped from being sent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

enum class Paused { entity, webhook, host };
/// As `pausas_envio.tipo` has it.
std::string_view name(Paused what);

struct Pause {
  Paused what;
  std::string object;                          // an id; a host: as webhook::host_name gives it
  std::optional<UtcTime> until;                // none: until the operator says so
  std::optional<platform::Milliseconds> left;  // until then, by the database's clock
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
/// In one statement, which a dispatcher makes at each look while something is pending.
Pauses read_pauses(Session& session);

/// In place of one of the same object; those that have ended are removed. No `length`: until it is resumed.
void pause_part(Session& session, Paused what, std::string_view object,
                std::optional<platform::Milliseconds> length, std::string_view reason);
/// False: it was not paused.
bool resume_part(Session& session, Paused what, std::string_view object);

}  // namespace store
