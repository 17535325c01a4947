#include "lib/platform/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lib/text/text.hpp"

namespace platform {

namespace {

constexpr std::size_t max_size = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw FileError(text::one_line(path) + ": " + reason);
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) fail(path, std::strerror(errno));
  }
  ~OpenFile() { ::close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// As read(2), but continues after a signal.
  ssize_t read(std::array<char, 8192>& buffer) const {
    while (true) {
      const auto count = ::read(fd_, buffer.data(), buffer.size());
      if (count >= 0 || errno != EINTR) return count;
    }
  }

 private:
  int fd_;
};

}  // namespace

std::string read_file(const std::string& path) {
  const OpenFile file(path);
  std::string text;
  std::array<char, 8192> buffer{};
  while (const auto count = file.read(buffer)) {
    if (count < 0) fail(path, std::strerror(errno));  // for example, the path is a directory
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > max_size) fail(path, "larger than 1 MiB");
  }
  return text;
}

std::string read_secret_file(const std::string& path) {
  std::string text = read_file(path);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) fail(path, "is empty");
  return text;
}

void require_private(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(path, std::strerror(errno));
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0)
    fail(path, "every user of this host may read or change it: chmod o= " + text::one_line(path));
}

}  // namespace platform
