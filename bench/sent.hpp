// What the two control programs have in common: the receivers' names, and the report of what was sent.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace bench {

/// `h0001.receptor.test` is the first host, as in bench/service.py.
inline std::string host_name(std::uint64_t index) {
  std::string digits = std::to_string(index + 1);
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  return "h" + digits + ".receptor.test";
}

inline double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

struct Sent {
  std::uint64_t messages = 0;
  std::uint64_t failed = 0;
  std::uint64_t connects = 0;
  double seconds = 0;
};

/// Prints one JSON object, with this process's processor time and memory.
inline void print(const Sent& sent) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::cout << "{\"sent\": " << sent.messages << ", \"failed\": " << sent.failed
            << ", \"connects\": " << sent.connects << ", \"seconds\": " << sent.seconds
            << ", \"rate\": " << static_cast<double>(sent.messages) / sent.seconds
            << ", \"cpu_seconds\": " << seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)
            << ", \"max_rss_kib\": " << usage.ru_maxrss << "}" << std::endl;
}

}  // namespace bench
