#include "lib/platform/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION  // the location would always be this file
#include <systemd/sd-journal.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "lib/text/text.hpp"

namespace platform {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// The priorities of syslog(3).
char priority_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return '7';
    case LogLevel::info:
      return '6';
    case LogLevel::warning:
      return '4';
    case LogLevel::error:
      return '3';
  }
  return '6';
}

bool under_journal() { return std::getenv("JOURNAL_STREAM") != nullptr; }

/// Whether standard error is the journal stream that JOURNAL_STREAM names, and not redirected elsewhere
/// (systemd.exec(5)).
bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status;
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::string field_name(std::string_view key) {
  std::string name = "APIENTIDADES_";
  for (const char c : key) name += text::upper(c);
  return name;
}

/// Writes each line by one write(2), so that lines of several processes stay whole in a pipe and in a file
/// opened for appending. spdlog's own sink uses stdio, where all threads of the process share one lock.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    for (std::string_view rest(line.data(), line.size()); !rest.empty();) {
      const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;  // the reader is gone; the failure cannot be reported
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void flush_() override {}
};

std::shared_ptr<spdlog::logger> make_logger(spdlog::level::level_enum minimum) {
  auto logger = std::make_shared<spdlog::logger>("apientidades", std::make_shared<StderrSink>());
  logger->set_pattern(under_journal() ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  logger->set_level(minimum);
  return logger;
}

bool is_plain(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || c == '"' || c == '=' || c == '\\') return false;
  }
  return true;
}

}  // namespace

std::string format_log_line(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = text::one_line(message);
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    line += is_plain(value) ? value : text::in_quotes(value);
  }
  return line;
}

std::vector<std::string> journal_fields(LogLevel level, std::string_view message,
                                        std::initializer_list<LogField> fields) {
  std::vector<std::string> result{"MESSAGE=" + format_log_line(message, fields),
                                  std::string("PRIORITY=") + priority_of(level),
                                  std::string("SYSLOG_IDENTIFIER=") + program_invocation_short_name};
  for (const auto& [key, value] : fields) result.push_back(field_name(key) + "=" + text::one_line(value));
  return result;
}

namespace {

/// Sends entries by the journal's own protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL). While journald takes
/// nothing, because it or its disk hangs, sd_journal_sendv() would block each thread that logs, and so stop
/// requests and deliveries. This class waits up to a second for the first entry that journald does not take,
/// and then drops entries without a wait until journald takes one.
class JournalSocket {
 public:
  JournalSocket() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    constexpr timeval patience{1, 0};
    constexpr int buffer = 8 << 20;  // as libsystemd asks for; the kernel grants less
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  }
  ~JournalSocket() { ::close(fd_); }
  JournalSocket(const JournalSocket&) = delete;
  JournalSocket& operator=(const JournalSocket&) = delete;

  /// Returns false when this entry cannot be sent in this way, for example because it is too long. Returns
  /// true also for an entry that is dropped, because journald takes nothing or has no socket. No field may
  /// contain a line end.
  bool send(const std::vector<std::string>& fields) {
    switch (try_send(fields)) {
      case 0:
        tell_lost();
        return true;
      case EAGAIN:
        ++lost_;
        return true;
      case ENOENT:  // there is no journald
        return true;
      default:
        return false;
    }
  }

 private:
  /// Returns 0 or an errno.
  int try_send(const std::vector<std::string>& fields) {
    constexpr sockaddr_un journald{AF_UNIX, "/run/systemd/journal/socket"};
    std::string entry;
    for (const auto& field : fields) entry.append(field).append("\n");
    const int flags = MSG_NOSIGNAL | (stalled_ ? MSG_DONTWAIT : 0);
    const auto* const address = reinterpret_cast<const sockaddr*>(&journald);
    const bool sent = ::sendto(fd_, entry.data(), entry.size(), flags, address, sizeof journald) >= 0;
    const int error = sent ? 0 : errno;
    stalled_ = error == EAGAIN;
    return error;
  }

  void tell_lost() {
    if (lost_ == 0) return;
    const auto lost = lost_.exchange(0);
    if (lost == 0) return;
    const auto warning = journal_fields(
        LogLevel::warning, "the journal took nothing for a time; messages were lost", {{"messages", lost}});
    if (try_send(warning) != 0) lost_ += lost;
  }

  int fd_;
  std::atomic<bool> stalled_ = false;
  std::atomic<std::uint64_t> lost_ = 0;
};

/// Returns false when the entry was neither sent nor dropped (JournalSocket::send).
bool send_to_journal(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  static JournalSocket socket;
  auto texts = journal_fields(level, message, fields);
  if (socket.send(texts)) return true;
  // If an entry is too long for a datagram, sd_journal_sendv() writes it to a file and passes the file.
  std::vector<iovec> parts;
  parts.reserve(texts.size());
  for (auto& text : texts) parts.push_back({text.data(), text.size()});
  return sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}
}  // namespace

void write_to_journal(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  send_to_journal(level, message, fields);
}

Log::Log(LogLevel minimum) : logger_(make_logger(spdlog_level(minimum))), journal_(stderr_is_journal()) {}

Log Log::with_own_lock() const {
  Log own = *this;
  own.logger_ = make_logger(logger_->level());
  return own;
}

bool Log::write_to_journal(LogLevel level, std::string_view message,
                           std::initializer_list<LogField> fields) const {
  return send_to_journal(level, message, fields);
}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
  if (!logger_->should_log(spdlog_level(level))) return;
  if (journal_ && write_to_journal(level, message, fields)) return;
  // sd-daemon(3): the journal reads the priority from the start of the line.
  std::string line = under_journal() ? std::string{'<', priority_of(level), '>'} : std::string();
  line += format_log_line(message, fields);
  logger_->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

void Log::debug(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::debug, message, fields);
}
void Log::info(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::info, message, fields);
}
void Log::warning(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::warning, message, fields);
}
void Log::error(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::error, message, fields);
}

}  // namespace platform
