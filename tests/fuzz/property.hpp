// Shared by all fuzz targets: a violated property ends the process, and libFuzzer reports that.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", property);
  std::abort();
}

/// Requires that `message`, which goes to a client, into the log or into a column, is one line of 1 to
/// `longest` bytes.
inline void require_sentence(std::string_view message, std::size_t longest) {
  require(!message.empty(), "a message says something");
  require(message.size() <= longest, "a message is short");
  for (const char c : message) require(static_cast<unsigned char>(c) >= ' ', "a message is one line");
}

}  // namespace fuzz
