// Values that the tests of the dispatcher's pure parts share.
#pragma once

#include <vector>

#include "attempt.hpp"

namespace dispatcher_support {

/// Every way an attempt can end without an answer. A test asserts that none is missing.
inline const std::vector<dispatcher::Ending>& endings_without_answer() {
  using dispatcher::Ending;
  static const std::vector<Ending> endings{
      Ending::address_refused, Ending::name_unresolved, Ending::connection_failed, Ending::connection_timeout,
      Ending::timeout,         Ending::tls_expired,     Ending::tls_untrusted,     Ending::tls_wrong_name,
      Ending::tls_failed,      Ending::closed,          Ending::headers_too_long,  Ending::bad_response};
  return endings;
}

}  // namespace dispatcher_support
