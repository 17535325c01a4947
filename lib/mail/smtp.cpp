#include "lib/mail/smtp.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "lib/platform/file.hpp"
#include "lib/text/text.hpp"

namespace mail {

namespace {

constexpr long connect_timeout_s = 15;
constexpr std::size_t longest_answer = 300;

/// How far the dialogue of a mail came (RFC 5321 section 3.3).
enum class Stage { connecting, sender, recipient, data, body };

struct Dialogue {
  Stage stage = Stage::connecting;
  std::string answer{};  // the server's last line, before libcurl's QUIT
  bool over = false;
  std::string_view unsent{};
};

Stage after_command(std::string_view command, Stage before) {
  if (command.starts_with("MAIL ")) return Stage::sender;
  if (command.starts_with("RCPT ")) return Stage::recipient;
  if (command.starts_with("DATA")) return Stage::data;
  return before;
}

/// CURLOPT_DEBUGFUNCTION: the only way to learn which command an answer is for.
int follow(CURL* /*handle*/, curl_infotype kind, char* text, std::size_t size, void* data) {
  auto& dialogue = *static_cast<Dialogue*>(data);
  const std::string_view line(text, size);
  if (kind == CURLINFO_HEADER_OUT) {
    dialogue.stage = after_command(line, dialogue.stage);
    dialogue.over = dialogue.over || line.starts_with("QUIT");
  }
  if (kind == CURLINFO_DATA_OUT && dialogue.stage == Stage::data) dialogue.stage = Stage::body;
  if (kind == CURLINFO_HEADER_IN && !dialogue.over)
    dialogue.answer = text::one_line(text::cut(text::trim(line), longest_answer));
  return 0;
}

std::size_t give(char* buffer, std::size_t size, std::size_t count, void* data) {
  auto& unsent = static_cast<Dialogue*>(data)->unsent;
  const auto length = std::min(size * count, unsent.size());
  std::memcpy(buffer, unsent.data(), length);
  unsent.remove_prefix(length);
  return length;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  if (curl_easy_setopt(handle, option, value) != CURLE_OK)
    throw std::runtime_error("libcurl refuses an option for mail (" + std::to_string(option) + ")");
}

struct HandleDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// Whether a 5xx says that the mailbox does not exist or is disabled (RFC 3463). Others, such as a relay that
/// refuses this host, would meet every address, and pass once they are mended.
bool is_of_address(std::string_view answer, Stage stage) {
  constexpr std::size_t code_length = 4;  // "550 "
  if (stage != Stage::recipient && stage != Stage::body) return false;
  const auto status = answer.substr(std::min(answer.size(), code_length));
  const auto code = status.substr(0, status.find(' '));
  if (code.starts_with("5.")) {
    const bool of_sender = code == "5.1.7" || code == "5.1.8";
    return (code.starts_with("5.1.") && !of_sender) || code == "5.2.1";
  }
  return stage == Stage::recipient &&
         (answer.starts_with("550") || answer.starts_with("551") || answer.starts_with("553"));
}

Sent judge(long code, std::string_view answer, Stage stage) {
  constexpr long closing = 421;
  if (code >= 500 && is_of_address(answer, stage)) return Sent::refused;
  // Before the recipient a refusal concerns the sender or the connection, so every mail would meet it.
  if (stage == Stage::connecting || code == closing || (stage == Stage::sender && code >= 500))
    return Sent::unavailable;
  return Sent::deferred;
}

std::string password_of(const config::MailSettings& settings) {
  if (settings.password_file.empty()) return {};
  try {
    platform::require_private(settings.password_file);
    return platform::read_secret_file(settings.password_file);
  } catch (const platform::FileError& error) {
    throw config::ConfigError(std::string("mail.password_file: ") + error.what());
  }
}

}  // namespace

struct SmtpClient::Connection {
  std::unique_ptr<CURL, HandleDeleter> handle{curl_easy_init()};
  Dialogue dialogue{};
  std::array<char, CURL_ERROR_SIZE> error{};
};

bool is_loopback_server(const std::string& server) {
  const auto begin = server.find("://");
  std::string_view host = server;
  if (begin != std::string::npos) host.remove_prefix(begin + 3);
  if (host.starts_with("[::1]")) return true;
  host = host.substr(0, host.find_first_of(":/"));
  if (text::equal_ignoring_case(host, "localhost")) return true;
  const auto is_address = [](char c) { return text::is_digit(c) || c == '.'; };
  return host.starts_with("127.") && std::ranges::all_of(host, is_address);
}

SmtpClient::SmtpClient(const config::MailSettings& settings) : connection_(std::make_unique<Connection>()) {
  CURL* handle = connection_->handle.get();
  if (handle == nullptr) throw std::runtime_error("libcurl could not be started");
  set(handle, CURLOPT_URL, settings.server.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  set(handle, CURLOPT_PROXY, "");  // ignores the environment
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_CONNECTTIMEOUT, connect_timeout_s);
  set(handle, CURLOPT_TIMEOUT, static_cast<long>(longest_send.count()));
  const bool plain = settings.server.starts_with("smtp://") && is_loopback_server(settings.server);
  set(handle, CURLOPT_USE_SSL, static_cast<long>(plain ? CURLUSESSL_NONE : CURLUSESSL_ALL));
  set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!settings.ca_file.empty()) {
    config::require_certificates("mail.ca_file", settings.ca_file);
    set(handle, CURLOPT_CAINFO, settings.ca_file.c_str());
    set(handle, CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  set(handle, CURLOPT_MAIL_FROM, ("<" + settings.from + ">").c_str());
  if (!settings.user.empty()) {
    set(handle, CURLOPT_USERNAME, settings.user.c_str());
    set(handle, CURLOPT_PASSWORD, password_of(settings).c_str());
  }
  set(handle, CURLOPT_UPLOAD, 1L);
  set(handle, CURLOPT_READFUNCTION, &give);
  set(handle, CURLOPT_READDATA, &connection_->dialogue);
  set(handle, CURLOPT_VERBOSE, 1L);  // calls `follow`
  set(handle, CURLOPT_DEBUGFUNCTION, &follow);
  set(handle, CURLOPT_DEBUGDATA, &connection_->dialogue);
  set(handle, CURLOPT_ERRORBUFFER, connection_->error.data());
}

SmtpClient::~SmtpClient() = default;

SendResult SmtpClient::send(const std::string& to, const std::string& message) {
  CURL* handle = connection_->handle.get();
  auto& [unused, dialogue, error] = *connection_;
  const std::unique_ptr<curl_slist, ListDeleter> recipients(
      curl_slist_append(nullptr, ("<" + to + ">").c_str()));
  if (!recipients) throw std::runtime_error("no memory for the recipient of a mail");
  set(handle, CURLOPT_MAIL_RCPT, recipients.get());
  dialogue = Dialogue{.unsent = message};
  error.front() = '\0';
  const auto result = curl_easy_perform(handle);
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  set(handle, CURLOPT_MAIL_RCPT, static_cast<curl_slist*>(nullptr));
  if (result == CURLE_OK) return {Sent::accepted, {}};
  constexpr long least_error = 400;
  const bool answered = code >= least_error && !dialogue.answer.empty();
  const std::string said = answered                ? dialogue.answer
                           : error.front() != '\0' ? text::one_line(error.data())
                                                   : curl_easy_strerror(result);
  return {judge(answered ? code : 0, dialogue.answer, dialogue.stage), said};
}

}  // namespace mail
