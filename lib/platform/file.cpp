#include "platform/file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace platform {

namespace {

constexpr std::size_t max_size = std::size_t{1} << 20;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rbe"));
  if (!file) throw FileError(path + ": " + std::strerror(errno));
  std::string text;
  std::array<char, 8192> buffer{};
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
    if (text.size() > max_size) throw FileError(path + ": larger than 1 MiB");
  }
  if (std::ferror(file.get()) != 0) throw FileError(path + ": " + std::strerror(errno));  // a folder, say
  return text;
}

std::string read_secret_file(const std::string& path) {
  std::string text = read_file(path);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) throw FileError(path + ": is empty");
  return text;
}

}  // namespace platform
