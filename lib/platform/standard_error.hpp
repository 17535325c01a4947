// Standard error, written without a wait for its reader. Internal to the library.
#pragma once

#include <string_view>

namespace platform {

/// Safe to share between threads.
class StandardError {
 public:
  StandardError();
  ~StandardError();
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  /// Writes the text and a line end by one call, cut to PIPE_BUF bytes, so that lines of several threads and
  /// processes stay whole. Returns false if the line is lost: the reader takes nothing now, or is gone.
  bool write_line(std::string_view line) const;

 private:
  int fd_;
};

}  // namespace platform
