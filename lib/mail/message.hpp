// Writes a mail: headers (RFC 5322, 2047, 3834, 8058), and its text as format=flowed (RFC 3676) and as HTML.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/clock.hpp"

namespace mail {

/// A paragraph, or a heading; with a link, the link alone follows `text` on its own line.
struct Paragraph {
  std::string text;    // UTF-8; may be empty with a link
  std::string link{};  // a URL of visible ASCII without `<`, `>` and `"`; empty: none
  bool heading = false;
};

struct Message {
  std::string from;         // an address (text::is_email_address), as `reply_to` and `to`
  std::string from_name{};  // UTF-8; empty: none
  std::string reply_to{};   // empty: none
  std::string to;
  std::string subject;  // UTF-8
  platform::UtcTime date;
  std::string id;               // the Message-ID before its `@`: letters, digits and dots
  std::string unsubscribe{};    // an https:// URL that a POST ends the mails at; empty: no such header
  std::string language = "es";  // of subject and body (RFC 5646)
  std::vector<Paragraph> body;
};

/// Returns the mail with CRLF at the end of each line, and no line longer than 998 bytes. Control characters
/// of `subject`, `from_name` and texts are escaped (text::one_line), so they begin no line of their own.
std::string format(const Message& message);

/// Returns the part of an address after its `@`.
std::string_view domain_of(std::string_view address);

// Exposed for tests.

/// `Mon, 30 Nov 2026 19:00:00 +0000` (RFC 5322 section 3.3).
std::string format_date(platform::UtcTime time);
/// The text if it is plain ASCII, otherwise encoded words (RFC 2047), on lines of at most 76 bytes.
std::string encode_header(std::string_view text);
/// Quoted-printable (RFC 2045 section 6.7) of a text with `\n` between its lines.
std::string quoted_printable(std::string_view text);
/// Wraps a paragraph at 72 bytes, each line but the last with a blank at its end (RFC 3676).
std::string flowed(std::string_view paragraph);

}  // namespace mail
