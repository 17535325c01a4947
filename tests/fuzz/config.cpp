// Loads a configuration. The input is a file, arguments and environment variables, separated by form feeds;
// each argument and each variable is a line.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "lib/config/config.hpp"
#include "lib/text/text.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using config::Config;

/// A file in memory, which exists as long as the object.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : fd_(::memfd_create("config", 0)) {
    fuzz::require(fd_ >= 0 && ::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                  "the file in memory is written");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Removes from `text` the first separator and all that stands before it; returns what stood before it.
std::string cut(std::string_view& text, char separator) {
  std::string first(text.substr(0, text.find(separator)));
  text.remove_prefix(std::min(first.size() + 1, text.size()));
  return first;
}

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) result.push_back(cut(text, '\n'));
  return result;
}

bool same_values(const Config& a, const Config& b) {
  return std::ranges::equal(a.values, b.values, {}, &config::KeyValue::value, &config::KeyValue::value);
}

void check(const Config& config) {
  const auto& settings = config.settings;
  fuzz::require(config.values.size() == config::config_keys().size(), "every key has a value");
  fuzz::require(settings.api.threads >= 1 && settings.api.threads <= 256, "threads in range");
  fuzz::require(settings.delivery.lease >= settings.delivery.timeout + std::chrono::seconds(10),
                "a lease outlasts an attempt");
  fuzz::require(settings.delivery.connect_timeout <= settings.delivery.timeout,
                "connecting is part of an attempt");
  for (const auto& override : settings.delivery.host_overrides)
    fuzz::require(!platform::IpAddress::parse(override.pattern), "no address is overridden");
  // The values that `config show` prints are valid input.
  std::vector<std::string> arguments;
  for (const auto& [name, value, source] : config.values)
    arguments.push_back(std::string("--").append(name).append("=").append(value));
  fuzz::require(same_values(config::load_config(arguments, MemoryFile("").path(), {}), config),
                "the output, loaded again, gives the same values");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  const MemoryFile file(cut(rest, '\f'));
  const auto arguments = lines(cut(rest, '\f'));
  const auto environment = lines(rest);
  std::optional<Config> config;
  try {
    config = config::load_config(arguments, file.path(), environment);
  } catch (const config::ConfigError& error) {
    fuzz::require(text::one_line(error.what()) == error.what(), "an error is one line");
    return 0;
  }
  check(*config);
  return 0;
}
