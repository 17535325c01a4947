#include "dispatcher/http/descriptors.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "lib/config/config.hpp"

namespace dispatcher {

namespace {

constexpr unsigned others = 64;  // descriptors for the database, the log and libcurl itself

}  // namespace

void require_descriptors(unsigned max_in_flight, unsigned test_requests) {
  const auto attempts = max_in_flight + test_requests;
  const rlim_t needed = connections_for(attempts) + rlim_t{sockets_per_attempt} * attempts + others;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw std::system_error(errno, std::generic_category(), "getrlimit");
  if (limit.rlim_max < needed) {
    throw config::ConfigError("delivery.max_in_flight = " + std::to_string(max_in_flight) + " needs " +
                              std::to_string(needed) + " file descriptors and " +
                              std::to_string(limit.rlim_max) +
                              " are allowed: lower it, or raise LimitNOFILE= of the unit (ulimit -Hn)");
  }
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw std::system_error(errno, std::generic_category(), "setrlimit");
}

}  // namespace dispatcher
