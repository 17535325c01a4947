// Reads a request from its FastCGI parameters (RFC 3875 section 4.1), before its body. Pure: needs no
// libfcgi.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "fcgi-app/http/http.hpp"

namespace api {

/// libfcgi's form: `NAME=value` texts, then a null pointer. Null: no parameters.
using Parameters = const char* const*;

/// The value of the first parameter of that name, as a view; empty when there is none.
std::string_view find_parameter(Parameters parameters, std::string_view name);

/// The values of all parameters of that name, joined by `, ` as RFC 9110 section 5.3 joins a header's lines;
/// nullopt when there is none.
std::optional<std::string> join_parameters(Parameters parameters, std::string_view name);

/// Reads everything except the body and its state.
Request read_head(Parameters parameters);

struct AnnouncedBody {
  BodyState state = BodyState::complete;  // unless `complete`, the body must not be read
  std::size_t length = 0;                 // 0..max_body_bytes
};

/// Reads CONTENT_LENGTH: digits, or empty for no body.
AnnouncedBody announced_body(std::string_view content_length);

}  // namespace api
