// The codes of mails to contacts: the code that confirms an address, and the token of the link by which a
// person ends the notices (RFC 8058). Both are computed from the contact's row and the keys of
// secrets.key_file, so the database holds nothing that confirms an address.
// Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "lib/platform/clock.hpp"
#include "lib/webhook/ids.hpp"
#include "lib/webhook/sealed_secret.hpp"

namespace contacts {

/// How long a code confirms, from `codigo_emitido` on, and how many wrong tries it has.
inline constexpr std::chrono::hours code_valid{24};
inline constexpr unsigned max_code_tries = 5;

/// What a confirmation code is computed from.
struct CodeFor {
  webhook::ContactId contact;
  std::string_view address;  // as stored
  platform::UtcTime issued;  // `codigo_emitido`
};

/// Returns six decimal digits, under the current key.
std::string confirmation_code(const webhook::KeyRing& keys, const CodeFor& whose);
/// Whether `code` is confirmation_code() under any key of the ring; in constant time. The caller checks
/// code_valid and max_code_tries.
bool is_confirmation_code(const webhook::KeyRing& keys, const CodeFor& whose, std::string_view code);

/// How long the link of a mail should end the notices, from its `Date` on.
inline constexpr std::chrono::days unsubscribe_valid{60};

/// The path and the start of the query of a link on the service's host, which ends with unsubscribe_token().
/// nginx keeps queries, unlike paths, out of its log.
inline constexpr std::string_view unsubscribe_target = "/apientidades/avisos/baja?codigo=";

/// Returns a text of [0-9a-f.], under the current key. It can be checked without the database, and shows no
/// address. `address` is as stored; `expires` is cut to a second.
std::string unsubscribe_token(const webhook::KeyRing& keys, webhook::ContactId contact,
                              std::string_view address, platform::UtcTime expires);

/// What a token names. The database must be asked for the contact's address, because a restore of a backup
/// gives ids again.
struct UnsubscribeLink {
  webhook::ContactId contact;
  std::string mark;  // 16 hexadecimal digits of a code of the address
};
/// Returns what is named by a token that any key of the ring has made and that ends after `now`; otherwise
/// nullopt.
std::optional<UnsubscribeLink> read_unsubscribe_token(const webhook::KeyRing& keys, std::string_view token,
                                                      platform::UtcTime now);
/// Whether the link was made for this address, under any key of the ring.
bool is_for_address(const webhook::KeyRing& keys, const UnsubscribeLink& link, std::string_view address);

}  // namespace contacts
