// Our own outages, as each dispatcher judges them (docs/delivery.md#our-own-outages): table `cortes_envio`.
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
/// How the database spells each kind (column `tipo`), in the order of OutageKind.
inline constexpr std::array<std::string_view, 2> outage_kind_names{"red", "dns"};
constexpr std::string_view name(OutageKind kind) { return outage_kind_names[static_cast<std::size_t>(kind)]; }

/// Adds an outage that began `ago` before now, and returns its id. Also deletes up to 1,000 outages that were
/// last confirmed over a year ago, unless the database's clock may have jumped forward. `dispatcher`: at most
/// 255 characters.
OutageId begin_outage(Session& session, std::string_view dispatcher, OutageKind kind,
                      platform::Milliseconds ago);
/// Confirms that the outage lasts or, with `ended_ago`, notes that it ended so long before now. `deliveries`:
/// how many deliveries had an attempt that the outage made fail.
void update_outage(Session& session, OutageId id, std::uint64_t deliveries,
                   std::optional<platform::Milliseconds> ended_ago);

struct RunningOutage {
  std::string dispatcher;
  std::string kind;  // red, dns
  UtcTime since;
  std::int64_t deliveries;
};
/// Lists the outages that have not ended and were confirmed within the last minute.
std::vector<RunningOutage> list_running_outages(Session& session);

/// The time that was lost to outages of any dispatcher, by the database's clock. Overlaps count once.
class OutageTimes {
 public:
  struct Span {
    UtcTime from, to;
  };
  /// Takes outages in any order, and ignores what lies after `now`. Pure.
  OutageTimes(std::vector<Span> outages, UtcTime now);

  UtcTime now() const { return now_; }
  /// How much of the time from `moment` to now was an outage.
  platform::Milliseconds since(UtcTime moment) const;
  /// The moment `span` ago, on a clock that stands still during outages.
  UtcTime so_long_ago(platform::Milliseconds span) const;

 private:
  std::vector<Span> spans_;  // without overlaps, earliest first
  UtcTime now_;
};
/// Reads the outages that were last confirmed after `since`; none if the session may not read them.
OutageTimes read_outages(Session& session, UtcTime since);

struct AnsweringWebhook {
  std::string url;
  EntityId entity;
  std::string address;         // of the last attempt of its newest attempted delivery
  platform::Milliseconds ago;  // time since the last attempt
};
/// Finds the webhooks that answered their last attempt, if that attempt was made at most `within` ago. If
/// there are more than `limit`, returns those attempted last.
std::vector<AnsweringWebhook> find_answering(Session& session, platform::Milliseconds within, unsigned limit);

}  // namespace store
