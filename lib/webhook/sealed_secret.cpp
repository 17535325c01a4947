#include "lib/webhook/sealed_secret.hpp"

#include <algorithm>

#include "lib/crypto/crypto.hpp"
#include "lib/text/text.hpp"

namespace webhook {

namespace {

constexpr std::size_t key_size = 32;
constexpr std::size_t max_id_size = 32;

struct Key {
  std::string id;
  std::string bytes;
};

bool is_id_character(char c) {
  return text::is_letter(c) || text::is_digit(c) || c == '.' || c == '_' || c == '-';
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= max_id_size &&
         std::all_of(text.begin(), text.end(), is_id_character);
}

// The messages quote nothing of the line. If its two parts are swapped by mistake, the key stands in the
// place of the id, and a message that quoted the id would show the key.
struct BadLine {
  const char* problem;
};

Key parse_line(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) throw BadLine{"expected `id:base64`"};
  const auto id = line.substr(0, colon);
  if (!is_id(id)) throw BadLine{"the id must be 1 to 32 of A-Z a-z 0-9 . _ -"};
  auto bytes = crypto::from_base64(line.substr(colon + 1));
  if (!bytes) throw BadLine{"the key is not base64 (padded, no spaces)"};
  if (bytes->size() != key_size) throw BadLine{"the key must have 32 bytes"};
  return {std::string(id), std::move(*bytes)};
}

std::string owner_webhook(WebhookId id) { return "webhook:" + to_string(id); }

/// A key's id has no colon, so different pairs of owner and key give different texts.
std::string associated_data(std::string_view owner, std::string_view key_id) {
  return std::string(owner) + ":" + std::string(key_id);
}

std::string code_of(std::string_view key, std::string_view purpose, std::string_view text) {
  constexpr std::size_t digits = 32;
  const auto derived = crypto::hmac_sha256(key, "authenticate:" + std::string(purpose));
  const std::string derived_key(derived.begin(), derived.end());
  return crypto::to_hex(crypto::hmac_sha256(derived_key, text)).substr(0, digits);
}

}  // namespace

KeyRing KeyRing::parse(std::string_view file_text, std::string_view path) {
  const std::string place = "secrets.key_file: " + (path.empty() ? "" : std::string(path) + ": ");
  KeyRing ring;
  for (std::size_t number = 1; !file_text.empty(); ++number) {
    const auto end = std::min(file_text.find('\n'), file_text.size());
    const auto line = text::trim(file_text.substr(0, end));
    file_text.remove_prefix(std::min(end + 1, file_text.size()));
    if (!line.empty() && line.front() != '#') ring.add(line, place + "line " + std::to_string(number) + ": ");
  }
  if (ring.keys_.empty())
    throw KeyFileError(place + "there is no key; how to make one: docs/security.md#rotating-the-key");
  return ring;
}

void KeyRing::add(std::string_view line, const std::string& place) {
  try {
    auto key = parse_line(line);
    if (keys_.empty()) current_ = key.id;
    if (!keys_.emplace(std::move(key.id), std::move(key.bytes)).second)
      throw BadLine{
          "the id repeats that of an earlier line: texts sealed by the two keys could not be told apart"};
  } catch (const BadLine& bad) {
    throw KeyFileError(place + bad.problem);
  }
}

SealedSecret KeyRing::seal(WebhookId webhook, std::string_view secret) const {
  return seal_for(owner_webhook(webhook), secret);
}

std::optional<std::string> KeyRing::open(WebhookId webhook, const SealedSecret& sealed) const {
  return open_for(owner_webhook(webhook), sealed);
}

SealedSecret KeyRing::seal_for(std::string_view owner, std::string_view text) const {
  return {current_, crypto::seal(keys_.at(current_), text, associated_data(owner, current_))};
}

std::optional<std::string> KeyRing::open_for(std::string_view owner, const SealedSecret& sealed) const {
  const auto key = keys_.find(sealed.key_id);
  if (key == keys_.end()) return std::nullopt;
  return crypto::open(key->second, sealed.ciphertext, associated_data(owner, sealed.key_id));
}

std::string KeyRing::authenticate(std::string_view purpose, std::string_view text) const {
  return code_of(keys_.at(current_), purpose, text);
}

std::vector<std::string> KeyRing::authenticate_by_each(std::string_view purpose,
                                                       std::string_view text) const {
  std::vector<std::string> codes;
  for (const auto& [id, key] : keys_) codes.push_back(code_of(key, purpose, text));
  return codes;
}

bool KeyRing::is_authentic(std::string_view purpose, std::string_view text, std::string_view code) const {
  return std::ranges::any_of(authenticate_by_each(purpose, text), [&](const auto& expected) {
    return crypto::equal_in_constant_time(expected, code);
  });
}

}  // namespace webhook
