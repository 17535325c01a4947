// Generates, from a seed, URLs as an attacker would write them: every notation of addresses near the edges of
// the special ranges, names, and text that confuses parsers.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "lib/platform/ip.hpp"

/// True: the address is in no special range; an IPv6 address is also in 2000::/3, or is NAT64 of a public
/// IPv4 address. The ranges are here a second time, to check the program's tables: IANA's special-purpose
/// registries, multicast, reserved, and a metadata service in no registry.
bool is_public_by_the_registries(const platform::IpAddress& address);

struct GeneratedUrl {
  std::string text;
  /// The address that the URL's host denotes. The URL must be accepted if the address is public and its
  /// notation `usual`, and refused otherwise. nullopt: the URL may be accepted or refused.
  std::optional<platform::IpAddress> plain;
  bool usual;  // IPv4: as four decimal numbers, which all programs read alike; IPv6: always
};

class UrlGenerator {
 public:
  explicit UrlGenerator(std::uint64_t seed) : random_(seed) {}
  GeneratedUrl next();

 private:
  bool one_in(unsigned n) { return below(n) == 0; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::string_view pick(std::span<const std::string_view> choices) { return choices[below(choices.size())]; }

  platform::IpAddress address();
  std::string spell(const platform::IpAddress& address);
  std::string spell_unusually(std::uint32_t address);
  std::string spell_v4(const platform::IpAddress& address);
  std::string spell_v6(const platform::IpAddress& address);
  std::string spell_number(std::uint32_t value);
  std::string name();
  std::string disguised(std::string host);
  std::string mutated(std::string text);

  std::mt19937_64 random_;
};
