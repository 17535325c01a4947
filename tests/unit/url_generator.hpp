// Generates, from a seed, URLs as an attacker would write them: addresses in many notations, names, and text
// that confuses parsers. Many of the addresses are at the edges of special ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "lib/platform/ip.hpp"

/// Whether the address is public: it is in no special range and, if it is IPv6, in 2000::/3. A NAT64 address
/// (64:ff9b::/96) is public if the IPv4 address in it is public. url_generator.cpp has its own list of
/// special ranges, so that a mistake in the program's list shows. The list has the ranges of IANA's
/// special-purpose registries, the multicast ranges, the reserved ranges, and the address of a metadata
/// service that is in no registry.
bool is_public_by_the_registries(const platform::IpAddress& address);

struct GeneratedUrl {
  std::string text;
  /// The address that the URL's host denotes. The URL must be accepted if the address is public and
  /// `usual` is true, and refused otherwise. nullopt: the URL may be accepted or refused.
  std::optional<platform::IpAddress> plain;
  /// Whether all programs read the same address from the host. True for every IPv6 address, and for an IPv4
  /// address that is written as four decimal numbers, with or without a final dot.
  bool usual;
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
