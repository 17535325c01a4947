#include "lib/platform/running_config.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "lib/platform/clock.hpp"
#include "lib/platform/file.hpp"
#include "lib/platform/service_manager.hpp"

namespace platform {

namespace {

constexpr std::string_view prefix = "config.";  // before the process's id

/// The id in the name of a note; 0: it is no note.
pid_t process_of(const std::filesystem::path& path) {
  const auto name = path.filename().string();
  pid_t pid = 0;
  if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
  return pid;
}

/// Whether the process that made the note runs: it has locked the file, and the kernel unlocks it at its end.
bool runs(const std::filesystem::path& note) {
  const int fd = ::open(note.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = ::flock(fd, LOCK_SH | LOCK_NB) != 0;
  ::close(fd);
  return locked;
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
    if (!runs(path)) std::filesystem::remove(path, error);
}

RunningConfig parse(const std::string& text) {
  RunningConfig running;
  std::istringstream lines(text);
  std::getline(lines, running.program, '\t');
  std::getline(lines, running.pid, '\t');
  std::getline(lines, running.since);
  for (KeyValue key; std::getline(lines, key.name, '\t') && std::getline(lines, key.value, '\t') &&
                     std::getline(lines, key.source);)
    running.values.push_back(key);
  return running;
}

}  // namespace

RunningNote::RunningNote(const std::string& program, const Config& config) {
  const auto folder = runtime_directory();
  if (!folder) return;
  remove_notes_of_the_dead(*folder);
  const auto pid = std::to_string(::getpid());
  path_ = *folder + '/' + std::string(prefix) + pid;
  std::string text = program + '\t' + pid + '\t' + format_iso8601(utc_now()) + '\n';
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
    for (const auto& path : notes_in(folder)) try {
        if (runs(path)) result.push_back(parse(read_file(path)));
      } catch (const FileError&) {  // the process has just ended, or is another user's
      }
  return result;
}

}  // namespace platform
