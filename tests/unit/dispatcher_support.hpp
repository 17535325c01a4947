// Values that tests of lib/delivery and of the dispatcher share.
#pragma once

#include <vector>

#include "lib/delivery/attempt.hpp"

namespace dispatcher_support {

/// Every TransportResult of an attempt that counts and gets no answer. tests/unit/failure_text_test.cpp
/// asserts that none is missing.
inline const std::vector<delivery::TransportResult>& results_without_answer() {
  using delivery::TransportResult;
  static const std::vector<TransportResult> results{
      TransportResult::address_refused,    TransportResult::port_refused,
      TransportResult::name_unresolved,    TransportResult::connection_failed,
      TransportResult::connection_timeout, TransportResult::timeout,
      TransportResult::tls_expired,        TransportResult::tls_untrusted,
      TransportResult::tls_wrong_name,     TransportResult::tls_weak,
      TransportResult::tls_wrong_purpose,  TransportResult::tls_client_wanted,
      TransportResult::tls_failed,         TransportResult::closed,
      TransportResult::headers_too_long,   TransportResult::bad_response};
  return results;
}

}  // namespace dispatcher_support
