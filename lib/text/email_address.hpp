// The one rule for e-mail addresses: those of the configuration and of the entities' contacts.
// Pure.
#pragma once

#include <string_view>

namespace text {

/// Whether the text is a mailbox of RFC 5321 section 4.1.2 whose local part is a dot-string of at most 64
/// characters and whose domain is a name; at most 254 characters, all visible ASCII. Refuses quoted local
/// parts, address literals ([192.0.2.1]) and SMTPUTF8 (RFC 6531), so that an address can stand in a header
/// or a command as it is.
bool is_email_address(std::string_view text);

}  // namespace text
