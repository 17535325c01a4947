// URLs as an attacker would write them, from a seed: every spelling of addresses around the edges of the
// special ranges, names, and what confuses parsers around them.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "lib/platform/ip.hpp"

/// Written here a second time, as text and from the registries, to check the tables of the program by.
/// `special`: IANA's special-purpose registries, multicast, reserved, and the metadata service in no
/// registry.
bool is_public_by_the_registries(const platform::IpAddress& address);

struct GeneratedUrl {
  std::string text;
  /// The URL is nothing but a spelling of this address, which must be accepted if it is public and `usual`:
  /// the only spelling of IPv4 that all readers read alike, any of IPv6.
  std::optional<platform::IpAddress> plain;
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
