// Remembers hosts that have answered. When an attempt meets silence, the dispatcher checks some of these
// hosts (docs/delivery.md#our-own-outages). Pure bookkeeping.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

class KnownHosts {
 public:
  static constexpr std::size_t most = 4096;
  static constexpr std::size_t most_of_entity = 8;

  struct Host {
    std::string host;  // with its port
    delivery::EntityId entity = 0;
    platform::IpAddress address;     // the address that answered
    platform::MonotonicTime seen{};  // when the host last answered
    platform::MonotonicTime asked{};
  };

  /// Notes that `host` of this entity answered. An entity has at most most_of_entity hosts, so that no entity
  /// takes all the room. A further host of the entity replaces the one that answered longest ago, if that was
  /// an hour ago or more; otherwise the further host is not noted. Beyond `most` hosts of all entities, the
  /// 10 % that answered longest ago are forgotten.
  void note(const std::string& host, delivery::EntityId entity, const platform::IpAddress& address,
            platform::MonotonicTime now);
  void forget(const std::string& host);
  bool seen_since(const std::string& host, platform::MonotonicTime since) const;

  /// When to pick a host: before the others, after them, or not at all.
  enum class Use { first, last, never };
  using Judge = std::function<Use(const std::string& host)>;
  /// Picks up to `count` hosts that have answered since `since`, at most one of each entity, and notes them
  /// as asked. Use::first goes before Use::last. Among equals, the entity asked longest ago goes first, and
  /// of each entity the host asked longest ago.
  std::vector<Host> pick(platform::MonotonicTime since, std::size_t count, platform::MonotonicTime now,
                         std::mt19937_64& random, const Judge& use);
  std::size_t size() const { return hosts_.size(); }
  std::size_t entities() const { return entities_.size(); }

 private:
  struct Entity {
    std::vector<std::string> hosts;
    platform::MonotonicTime asked{};
  };
  struct Choice {
    Use use;
    platform::MonotonicTime entity_asked;
    Host* host;
  };

  bool make_way(Entity& entity, platform::MonotonicTime now);
  std::optional<Choice> best_of(const Entity& entity, platform::MonotonicTime since, const Judge& use);
  void forget_oldest();

  std::unordered_map<std::string, Host> hosts_;
  std::unordered_map<delivery::EntityId, Entity> entities_;
};

}  // namespace dispatcher
