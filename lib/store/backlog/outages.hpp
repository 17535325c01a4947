// Outages of the service itself, of each dispatcher: table `cortes_envio` (docs/delivery.md#our-own-outages).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/session/session.hpp"
#include "lib/store/types.hpp"

namespace store {

enum class OutageKind { network, names };
/// As the database spells them (`tipo`), in the order of the column's definition.
inline constexpr std::array<std::string_view, 2> outage_kind_names{"red", "dns"};
constexpr std::string_view name(OutageKind kind) { return outage_kind_names[static_cast<std::size_t>(kind)]; }

/// One that began so long ago; its id. `dispatcher`: at most 255 characters. Removes what is older than a
/// year.
std::int64_t begin_outage(Session& session, std::string_view dispatcher, OutageKind kind,
                          platform::Milliseconds ago);
/// It goes on, or ended so long ago.
void update_outage(Session& session, std::int64_t id, std::uint64_t deliveries,
                   std::optional<platform::Milliseconds> ended_ago);

struct RunningOutage {
  std::string dispatcher;
  std::string kind;  // red, dns
  UtcTime since;
  std::int64_t deliveries;
};
/// Those that a dispatcher has confirmed within a minute.
std::vector<RunningOutage> list_running_outages(Session& session);

/// Outages of whichever dispatchers as time, by the database's clock: what they share counts once.
class OutageTimes {
 public:
  struct Span {
    UtcTime from, to;
  };
  /// Of `outages`, in any order, what is past at `now`. Pure.
  OutageTimes(std::vector<Span> outages, UtcTime now);

  UtcTime now() const { return now_; }
  /// How much of the time from `moment` until now was an outage.
  platform::Milliseconds since(UtcTime moment) const;
  /// The latest moment since when `span` has passed, outages not counted.
  UtcTime so_long_ago(platform::Milliseconds span) const;

 private:
  std::vector<Span> spans_;  // without overlaps, the earliest first
  UtcTime now_;
};
/// Those that lasted beyond `since`.
OutageTimes read_outages(Session& session, UtcTime since);

/// Webhooks whose receiver answered within `within`, and where: the latest.
struct AnsweringWebhook {
  std::string url;
  EntityId entity;
  std::string address;
  platform::Milliseconds ago;
};
std::vector<AnsweringWebhook> find_answering(Session& session, platform::Milliseconds within, unsigned limit);

}  // namespace store
