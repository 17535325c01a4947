#include "tests/fuzz/answer_oracle.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fuzz {

namespace {

using Verdict = Answer::Verdict;

constexpr std::size_t longest_head = 32'768;  // well below the default of delivery.max_response
constexpr std::size_t longest_line = 8'192;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_text(char c) { return is_blank(c) || (static_cast<unsigned char>(c) > ' ' && c != 0x7f); }
bool is_token(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return result;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

struct Field {
  std::string name;
  std::string value;
};

struct Head {
  Verdict verdict = Verdict::incomplete;
  int status = 0;
  std::vector<Field> fields;
};

/// Takes the next line, without its CR LF; nullopt: the line is incomplete.
std::optional<std::string_view> take_line(std::string_view& bytes) {
  const auto end = bytes.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const auto line = bytes.substr(0, end);
  bytes.remove_prefix(end + 2);
  return line;
}

/// The status in a line like `HTTP/1.1 200 OK`; 0 if the line has another form.
int status_of(std::string_view line) {
  constexpr std::string_view version = "HTTP/1.1 ";
  if (!line.starts_with(version) || line.size() < version.size() + 4) return 0;
  const auto code = line.substr(version.size(), 3);
  const auto reason = line.substr(version.size() + 3);
  if (!std::ranges::all_of(code, is_digit) || code < "100" || code > "599" || reason[0] != ' ') return 0;
  int status = 0;
  std::from_chars(code.data(), code.data() + code.size(), status);
  return status;
}

/// Takes a head, up to its empty line, from `bytes`.
Head take_head(std::string_view& bytes) {
  Head head;
  auto line = take_line(bytes);
  if (!line) return head;
  head.verdict = Verdict::doubtful;
  head.status = status_of(*line);
  if (head.status == 0 || !std::ranges::all_of(*line, is_text)) return head;
  while (true) {
    line = take_line(bytes);
    if (!line) return {};
    if (line->empty()) break;
    if (line->size() > longest_line || !std::ranges::all_of(*line, is_text)) return head;
    if (is_blank(line->front())) {
      if (head.fields.empty()) return head;
      head.fields.back().value += " " + trimmed(*line);
      continue;
    }
    const auto colon = line->find(':');
    if (colon == 0 || colon == std::string_view::npos) return head;
    const auto name = line->substr(0, colon);
    if (!std::ranges::all_of(name, is_token)) return head;
    head.fields.push_back({lower(name), trimmed(line->substr(colon + 1))});
  }
  head.verdict = Verdict::valid;
  return head;
}

std::vector<std::string> values_of(const Head& head, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& field : head.fields) {
    if (field.name == name) values.push_back(trimmed(field.value));
  }
  return values;
}

}  // namespace

Answer read_answer(std::string_view bytes) {
  Answer answer;
  const auto whole = bytes.size();
  while (true) {
    const auto head = take_head(bytes);
    answer.verdict = head.verdict;
    if (head.verdict != Verdict::valid) break;
    if (whole - bytes.size() > longest_head || head.status == 101 || head.status == 100) {
      answer.verdict = Verdict::doubtful;  // the sender may refuse a long head, a 100 or a 101
      break;
    }
    if (head.status < 200) continue;
    const auto lengths = values_of(head, "content-length");
    const bool chunked = !values_of(head, "transfer-encoding").empty();
    answer.status = head.status;
    answer.retry_after = values_of(head, "retry-after");
    if (chunked || lengths.size() > 1 || !values_of(head, "content-encoding").empty()) {
      answer.verdict = chunked && lengths.empty() ? Verdict::valid : Verdict::doubtful;
      break;
    }
    if (lengths.empty()) {
      answer.ends = (head.status == 204 || head.status == 304) && bytes.empty();
      break;
    }
    std::size_t length = 0;
    const auto& text = lengths.front();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (text.empty() || !is_digit(text.front()) || error != std::errc{} || end != text.data() + text.size()) {
      answer.verdict = Verdict::doubtful;
    } else {
      answer.ends = head.status == 204 || head.status == 304 ? bytes.empty() : bytes.size() == length;
    }
    break;
  }
  return answer;
}

}  // namespace fuzz
