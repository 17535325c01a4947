#include "lib/config/running_config.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>

#include "lib/platform/clock.hpp"
#include "lib/platform/service_manager.hpp"
#include "lib/text/text.hpp"

namespace config {

namespace {

constexpr std::string_view prefix = "config.";  // before the process's id
constexpr off_t max_size = off_t{1} << 20;

/// The id in the name of a note; 0: it is no note.
pid_t process_of(const std::filesystem::path& path) {
  const auto name = path.filename().string();
  const auto* const end = name.data() + name.size();
  pid_t pid = 0;
  if (!name.starts_with(prefix) || std::from_chars(name.data() + prefix.size(), end, pid).ptr != end)
    return 0;
  return pid;
}

/// The note of a process that runs: it has locked the file, and the kernel unlocks it at its end. Root reads
/// it, but its folder is another user's: it may be anything, and may be replaced at any time.
std::optional<std::string> read_note(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= max_size &&
      ::flock(fd, LOCK_SH | LOCK_NB) != 0) {
    text.emplace(static_cast<std::size_t>(status.st_size), '\0');
    text->resize(static_cast<std::size_t>(std::max(::read(fd, text->data(), text->size()), ssize_t{0})));
  }
  ::close(fd);
  return text;
}

std::vector<std::filesystem::path> notes_in(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (auto next = std::filesystem::directory_iterator(folder, error); !error && next != end(next);
       next.increment(error))
    if (process_of(next->path()) > 0) paths.push_back(next->path());
  std::ranges::sort(paths, {}, process_of);
  return paths;
}

/// A process that is killed leaves its note behind.
void remove_notes_of_the_dead(const std::string& folder) {
  std::error_code error;
  for (const auto& path : notes_in(folder))
    if (!read_note(path)) std::filesystem::remove(path, error);
}

bool next_field(std::istream& lines, std::string& field, char end) {
  if (!std::getline(lines, field, end)) return false;
  field = text::one_line(field);  // a terminal would obey control characters
  return true;
}

RunningConfig parse(pid_t pid, const std::string& text) {
  RunningConfig running;
  running.pid = std::to_string(pid);
  std::istringstream lines(text);
  next_field(lines, running.program, '\t');
  next_field(lines, running.since, '\n');
  for (KeyValue key; next_field(lines, key.name, '\t') && next_field(lines, key.value, '\t') &&
                     next_field(lines, key.source, '\n');)
    running.values.push_back(key);
  return running;
}

}  // namespace

RunningNote::RunningNote(const std::string& program, const Config& config) {
  const auto folder = platform::runtime_directory();
  if (!folder) return;
  remove_notes_of_the_dead(*folder);
  const auto pid = std::to_string(::getpid());
  path_ = *folder + '/' + std::string(prefix) + pid;
  std::string text = program + '\t' + platform::format_iso8601(platform::utc_now()) + '\n';
  for (const auto& key : config.values) text += key.name + '\t' + key.value + '\t' + key.source + '\n';
  const auto unfinished = *folder + "/new." + pid;
  lock_ = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0 &&
      ::write(lock_, text.data(), text.size()) == std::ssize(text))
    ::rename(unfinished.c_str(), path_.c_str());
}

RunningNote::~RunningNote() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove(path_, error);
  if (lock_ >= 0) ::close(lock_);
}

std::vector<RunningConfig> read_running_notes(const std::vector<std::string>& folders) {
  std::vector<RunningConfig> result;
  for (const auto& folder : folders)
    for (const auto& path : notes_in(folder))
      if (const auto text = read_note(path)) result.push_back(parse(process_of(path), *text));
  return result;
}

}  // namespace config
