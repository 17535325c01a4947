#include "lib/contacts/codes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "lib/crypto/crypto.hpp"
#include "lib/text/text.hpp"

namespace contacts {

namespace {

constexpr std::string_view code_purpose = "contact-code";
constexpr std::string_view unsubscribe_purpose = "contact-unsubscribe";
constexpr std::string_view address_purpose = "contact-address";
constexpr std::size_t mark_size = 16;

/// An address contains no blank, so different codes are computed from different texts.
std::string code_text(const CodeFor& whose) {
  return to_string(whose.contact) + ' ' + std::string(whose.address) + ' ' +
         platform::format_iso8601(whose.issued);
}

/// `authenticator` has 32 hexadecimal digits. Its first 60 bits are so many that every code is practically as
/// likely as any other.
std::string six_digits(const std::string& authenticator) {
  constexpr std::size_t used = 15;
  constexpr std::uint64_t codes = 1'000'000;
  constexpr int hexadecimal = 16;
  const auto number = std::strtoull(authenticator.substr(0, used).c_str(), nullptr, hexadecimal) % codes;
  return std::to_string(codes + number).substr(1);
}

}  // namespace

std::string confirmation_code(const webhook::KeyRing& keys, const CodeFor& whose) {
  return six_digits(keys.authenticate(code_purpose, code_text(whose)));
}

bool is_confirmation_code(const webhook::KeyRing& keys, const CodeFor& whose, std::string_view code) {
  return std::ranges::any_of(keys.authenticate_by_each(code_purpose, code_text(whose)), [&](const auto& one) {
    return crypto::equal_in_constant_time(six_digits(one), code);
  });
}

std::string unsubscribe_token(const webhook::KeyRing& keys, webhook::ContactId contact,
                              std::string_view address, platform::UtcTime expires) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(expires).time_since_epoch().count();
  const auto text = to_string(contact) + '.' + std::to_string(seconds) + '.' +
                    keys.authenticate(address_purpose, address).substr(0, mark_size);
  return text + '.' + keys.authenticate(unsubscribe_purpose, text);
}

std::optional<UnsubscribeLink> read_unsubscribe_token(const webhook::KeyRing& keys, std::string_view token,
                                                      platform::UtcTime now) {
  constexpr std::size_t longest = 100;
  const auto last = token.rfind('.');
  if (token.size() > longest || last == std::string_view::npos) return std::nullopt;
  const auto text = token.substr(0, last);
  const auto first = text.find('.');
  const auto second = text.rfind('.');
  if (first == std::string_view::npos || first == second) return std::nullopt;
  const auto contact = text::parse_number<std::int64_t>(text.substr(0, first));
  const auto expires = text::parse_number<std::int64_t>(text.substr(first + 1, second - first - 1));
  if (!contact || !expires || !keys.is_authentic(unsubscribe_purpose, text, token.substr(last + 1)))
    return std::nullopt;
  // Only an authentic time is converted: another could exceed the range of UtcTime.
  if (platform::UtcTime(std::chrono::seconds(*expires)) <= now) return std::nullopt;
  return UnsubscribeLink{*contact, std::string(text.substr(second + 1))};
}

bool is_for_address(const webhook::KeyRing& keys, const UnsubscribeLink& link, std::string_view address) {
  return std::ranges::any_of(keys.authenticate_by_each(address_purpose, address), [&](const auto& one) {
    return crypto::equal_in_constant_time(one.substr(0, mark_size), link.mark);
  });
}

}  // namespace contacts
