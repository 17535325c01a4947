// Bodies and headers of the test requests of a diagnosis (docs/delivery.md#diagnosis). No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dispatcher/http/attempt.hpp"
#include "lib/delivery/diagnosis.hpp"
#include "lib/store/diagnoses/diagnoses.hpp"

namespace dispatcher {

/// True: the test request is a POST.
bool is_post(delivery::TestRequestKind kind);

/// The webhook-id. `messages`: a number of the diagnosis's own.
std::string message_id(std::uint64_t messages, delivery::TestRequestKind kind);

/// The body; `kind` must not be `repeated`, which has the body of the genuine one. `target.event` must be
/// set.
std::string body_of(delivery::TestRequestKind kind, const store::DiagnosisTarget& target,
                    platform::UtcTime occurred);

/// The number of random bytes in one wrong signature. A test request has up to four wrong signatures.
inline constexpr std::size_t wrong_signature_bytes = 32;

/// Returns the headers as `Name: value`. They are those of a delivery, signed with the secrets of `request`
/// at the time `attempted`, except for what `kind` says: an old timestamp, wrong signatures, none, or a rare
/// form. `random`: 4 * wrong_signature_bytes.
std::vector<std::string> headers_of(const Request& request, delivery::TestRequestKind kind,
                                    const std::string& message_id, platform::UtcTime attempted,
                                    const std::string& random);

}  // namespace dispatcher
