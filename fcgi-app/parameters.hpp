// A request as its FastCGI parameters tell it (RFC 3875 section 4.1), before its body is read. Pure: libfcgi
// is not needed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "fcgi-app/http.hpp"

namespace api {

/// As libfcgi keeps them: `NAME=value` texts, a null pointer after the last. May itself be null: no
/// parameters.
using Parameters = const char* const*;

/// The first of that name; empty when there is none. A view of the parameters.
std::string_view find_parameter(Parameters parameters, std::string_view name);

/// All of that name, joined by `, `, as RFC 9110 section 5.3 joins the lines of a header; nullopt when there
/// is none.
std::optional<std::string> join_parameters(Parameters parameters, std::string_view name);

/// Everything but the body and its state.
Request read_head(Parameters parameters);

struct AnnouncedBody {
  BodyState state = BodyState::complete;  // otherwise it is not to be read
  std::size_t length = 0;                 // 0..max_body_bytes
};

/// CONTENT_LENGTH: digits, or empty for no body.
AnnouncedBody announced_body(std::string_view content_length);

}  // namespace api
