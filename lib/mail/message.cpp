#include "lib/mail/message.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "lib/crypto/crypto.hpp"
#include "lib/text/text.hpp"

namespace mail {

namespace {

constexpr std::string_view line_end = "\r\n";

bool is_plain(std::string_view text) {
  constexpr std::size_t longest = 60;  // longer ones are encoded, and so folded
  return text.size() <= longest && text.find("=?") == std::string_view::npos &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f'; });
}

/// Encoded words (RFC 2047), each on a line of its own.
std::string encoded_words(std::string_view text) {
  constexpr std::size_t longest = 39;  // 52 characters of base64: an encoded word of 64
  std::string result;
  while (!text.empty()) {
    const auto piece = text::cut(text, longest);
    const auto taken = piece.empty() ? text.substr(0, longest) : piece;
    if (!result.empty()) result.append(line_end).append(" ");
    result += "=?UTF-8?B?" + crypto::to_base64(taken) + "?=";
    text.remove_prefix(taken.size());
  }
  return result;
}

/// A display name (RFC 5322 section 3.4): a phrase of words, or encoded.
std::string phrase(std::string_view name) {
  const auto is_word = [](char c) { return text::is_letter(c) || text::is_digit(c) || c == ' '; };
  return std::ranges::all_of(name, is_word) ? encode_header(name) : encoded_words(name);
}

std::string header(std::string_view name, std::string_view value) {
  return std::string(name).append(": ").append(value).append(line_end);
}

std::string escape_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string plain_body(const std::vector<Paragraph>& body) {
  std::string result;
  for (const auto& [text, link, heading] : body) {
    if (!text.empty()) result += flowed(text::one_line(text)) + '\n';
    if (!link.empty()) result += link + '\n';
    result += '\n';
  }
  if (!result.empty()) result.pop_back();
  return result;
}

std::string html_body(const std::vector<Paragraph>& body, const std::string& language) {
  std::string result =
      "<!DOCTYPE html>\n<html lang=\"" + language + "\"><head><meta charset=\"utf-8\"></head><body>\n";
  for (const auto& [text, link, heading] : body) {
    const std::string_view tag = heading ? "h2" : "p";
    result.append("<").append(tag).append(">").append(escape_html(text::one_line(text)));
    if (!link.empty()) {
      if (!text.empty()) result += "<br>\n";
      result += "<a href=\"" + escape_html(link) + "\">" + escape_html(link) + "</a>";
    }
    result.append("</").append(tag).append(">\n");
  }
  return result + "</body></html>\n";
}

std::string part(std::string_view type, std::string_view text) {
  return header("Content-Type", type) + header("Content-Transfer-Encoding", "quoted-printable") +
         std::string(line_end) + quoted_printable(text) + std::string(line_end);
}

std::string unsubscribe_headers(const std::string& url) {
  if (url.empty()) return {};
  return header("List-Unsubscribe", "<" + url + ">") +
         header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
}

bool is_literal(char c) { return c > ' ' && c < '\x7f' && c != '='; }

std::string octet(char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return {'=', digits[byte >> 4U], digits[byte & 15U]};
}

/// A line of quoted-printable. A dot or "From " at the start of a line is encoded, because some servers
/// change such lines.
std::string quoted_line(std::string_view line) {
  constexpr std::size_t longest = 75;  // and the `=` of a soft line break
  std::string result;
  std::string current;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool last = i + 1 == line.size();
    const bool starts = current.empty() && (c == '.' || c == 'F');
    const auto piece = !starts && (is_literal(c) || (c == ' ' && !last)) ? std::string(1, c) : octet(c);
    if (current.size() + piece.size() > longest) {
      result.append(current).append("=").append(line_end);
      current.clear();
    }
    current += piece;
  }
  return result + current;
}

}  // namespace

std::string_view domain_of(std::string_view address) { return address.substr(address.rfind('@') + 1); }

std::string format_date(platform::UtcTime time) {
  constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  const auto two = [](auto number) {
    const auto text = std::to_string(number);
    return text.size() < 2 ? '0' + text : text;
  };
  return std::string(days.at(std::chrono::weekday(day).c_encoding())) + ", " +
         two(static_cast<unsigned>(date.day())) + ' ' +
         std::string(months.at(static_cast<unsigned>(date.month()) - 1)) + ' ' +
         std::to_string(static_cast<int>(date.year())) + ' ' + two(clock.hours().count()) + ':' +
         two(clock.minutes().count()) + ':' + two(clock.seconds().count()) + " +0000";
}

std::string encode_header(std::string_view text) {
  return is_plain(text) ? std::string(text) : encoded_words(text);
}

std::string quoted_printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    result.append(quoted_line(text.substr(at, end - at)));
    if (end < text.size()) result.append(line_end);
    at = end + 1;
  }
  return result;
}

std::string flowed(std::string_view paragraph) {
  constexpr std::size_t width = 72;
  std::string result;
  std::string line;
  while (!paragraph.empty()) {
    const auto end = std::min(paragraph.find(' '), paragraph.size());
    const auto word = paragraph.substr(0, end);
    if (!line.empty() && line.size() + word.size() > width) {
      result += line + '\n';
      line.clear();
    }
    if (line.empty() && (word.starts_with('>') || word == "From")) line += ' ';  // space-stuffing
    line.append(word);
    paragraph.remove_prefix(std::min(end + 1, paragraph.size()));
    if (!paragraph.empty()) line += ' ';
  }
  return result + std::string(text::trim(line, " ").empty() ? "" : line);
}

std::string format(const Message& message) {
  const std::string boundary = "=_" + message.id;  // quoted-printable has no "=_"
  const auto from = message.from_name.empty()
                        ? message.from
                        : phrase(text::one_line(message.from_name)) + "\r\n <" + message.from + ">";
  std::string result =
      header("Date", format_date(message.date)) + header("From", from) + header("To", message.to) +
      (message.reply_to.empty() ? "" : header("Reply-To", message.reply_to)) +
      header("Subject", encode_header(text::one_line(message.subject))) +
      header("Message-ID", "<" + message.id + "@" + std::string(domain_of(message.from)) + ">") +
      header("Content-Language", message.language) + header("Auto-Submitted", "auto-generated") +
      unsubscribe_headers(message.unsubscribe) + header("MIME-Version", "1.0") +
      header("Content-Type", "multipart/alternative;\r\n boundary=\"" + boundary + "\"");
  const auto separator = "--" + boundary;
  result.append(line_end).append(separator).append(line_end);
  result += part("text/plain; charset=utf-8; format=flowed", plain_body(message.body));
  result.append(separator).append(line_end);
  result += part("text/html; charset=utf-8", html_body(message.body, message.language));
  return result.append(separator).append("--").append(line_end);
}

}  // namespace mail
