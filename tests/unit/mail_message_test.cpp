// lib/mail/message. tests/notices reads whole mails back with Python's strict parser.
#include "lib/mail/message.hpp"

#include <boost/test/unit_test.hpp>

using namespace mail;
using namespace std::chrono_literals;

namespace {

Message simple() {
  return {.from = "avisos@example.org",
          .to = "ana@ejemplo.es",
          .subject = "Hola",
          .date = platform::UtcTime{},
          .id = "0a.1",
          .body = {{"Un párrafo."}}};
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\r\n" + text).find("\r\n" + line + "\r\n") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mail_message)

BOOST_AUTO_TEST_CASE(the_headers_are_those_of_an_automatic_mail) {
  auto message = simple();
  message.from_name = "Ministerio, S. A.";
  message.unsubscribe = "https://api.example.org/baja/1";
  const auto text = format(message);
  BOOST_TEST(has_line(text, "Date: Thu, 01 Jan 1970 00:00:00 +0000"));
  BOOST_TEST(has_line(text, "From: =?UTF-8?B?TWluaXN0ZXJpbywgUy4gQS4=?=\r\n <avisos@example.org>"));
  BOOST_TEST(has_line(text, "To: ana@ejemplo.es"));
  BOOST_TEST(has_line(text, "Message-ID: <0a.1@example.org>"));
  BOOST_TEST(has_line(text, "Auto-Submitted: auto-generated"));
  BOOST_TEST(has_line(text, "List-Unsubscribe: <https://api.example.org/baja/1>"));
  BOOST_TEST(has_line(text, "List-Unsubscribe-Post: List-Unsubscribe=One-Click"));
  BOOST_TEST(!has_line(text, "Reply-To: "));
}

BOOST_AUTO_TEST_CASE(a_name_begins_no_header_of_its_own) {
  auto message = simple();
  message.subject = "Entidad\r\nBcc: otro@ejemplo.es";
  message.from_name = "X\nBcc: otro@ejemplo.es";
  message.body = {{"Texto\r\n.\r\nBcc: otro@ejemplo.es"}};
  const auto text = format(message);
  BOOST_TEST(text.find("\nBcc") == std::string::npos);
  BOOST_TEST(text.find("\r\n.\r\n") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_encoded_word_is_longer_than_75_characters) {
  for (const std::size_t length : {45U, 46U, 60U, 61U, 200U}) {
    auto message = simple();
    message.from_name = std::string(length - 1, 'x') + '.';
    const auto text = format(message);
    for (auto at = text.find("=?UTF-8?B?"); at != std::string::npos; at = text.find("=?UTF-8?B?", at + 1))
      BOOST_TEST(text.find("?=", at) + 2 - at <= 75U, length);
  }
}

BOOST_AUTO_TEST_CASE(a_date_has_the_form_of_rfc_5322) {
  BOOST_TEST(format_date(platform::parse_iso8601("2026-11-30T19:04:05Z").value()) ==
             "Mon, 30 Nov 2026 19:04:05 +0000");
  BOOST_TEST(format_date(platform::parse_iso8601("2028-02-29T00:00:59.999Z").value()) ==
             "Tue, 29 Feb 2028 00:00:59 +0000");
}

BOOST_AUTO_TEST_CASE(a_header_is_encoded_only_if_it_must_be) {
  BOOST_TEST(encode_header("Plain text") == "Plain text");
  BOOST_TEST(encode_header("años") == "=?UTF-8?B?YcOxb3M=?=");
  BOOST_TEST(encode_header("=?UTF-8?B?YQ==?=") != "=?UTF-8?B?YQ==?=");
}

BOOST_AUTO_TEST_CASE(a_long_header_is_folded_between_characters) {
  std::string title;
  for (int i = 0; i < 60; ++i) title += "ñ";
  const auto text = encode_header(title);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find("\r\n", at), text.size());
    BOOST_TEST(end - at <= 76U);
    at = end + 2;
  }
  // 39 bytes hold 19 characters of 2: no encoded word ends within one.
  BOOST_TEST(text.starts_with("=?UTF-8?B?w7HDscOxw7HDscOxw7HDscOxw7HDscOxw7HDscOxw7HDscOxw7E=?=\r\n "));
}

BOOST_AUTO_TEST_CASE(quoted_printable_keeps_blanks_at_the_end_and_dots_at_the_start) {
  BOOST_TEST(quoted_printable("a \nb") == "a=20\r\nb");
  BOOST_TEST(quoted_printable(".\n.x") == "=2E\r\n=2Ex");
  BOOST_TEST(quoted_printable("From x") == "=46rom x");
  BOOST_TEST(quoted_printable("1=1 ñ") == "1=3D1 =C3=B1");
}

BOOST_AUTO_TEST_CASE(no_line_of_quoted_printable_is_longer_than_76) {
  for (const auto& line : {std::string(500, 'x'), std::string(500, '='), std::string(75, 'x') + "ñ"}) {
    const auto text = quoted_printable(line);
    std::size_t begin = 0;
    for (auto end = text.find("\r\n"); begin < text.size(); end = text.find("\r\n", begin)) {
      end = std::min(end, text.size());
      BOOST_TEST(end - begin <= 76U);
      begin = end + 2;
    }
  }
}

BOOST_AUTO_TEST_CASE(a_paragraph_flows) {
  const auto text = flowed(std::string(70, 'x') + " corta y > From");
  BOOST_TEST(text == std::string(70, 'x') + " \ncorta y > From");
  BOOST_TEST(flowed("> cita") == " > cita");
  BOOST_TEST(flowed("From allí") == " From allí");
  BOOST_TEST(flowed("") == "");
}

BOOST_AUTO_TEST_CASE(html_shows_text_and_not_markup) {
  auto message = simple();
  message.body = {{"<script>alert(1)</script> & \"b\"", "https://x.example.org/?a=1&b=2"}};
  const auto text = format(message);
  BOOST_TEST(text.find("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;b&quot;") != std::string::npos);
  BOOST_TEST(text.find("?a=3D1&amp;b=3D2") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
