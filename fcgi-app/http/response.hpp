// Builds responses, and their header block for FastCGI.
#pragma once

#include <string>
#include <string_view>

#include "fcgi-app/http/errors.hpp"
#include "fcgi-app/http/http.hpp"
#include "lib/json/json.hpp"

namespace api {

Response json_response(int status, const json::Value& body);

/// A response with the body `{"message": …}`.
Response message_response(int status, std::string_view message);
Response error_response(const HttpError& error);

/// The text before the body, with a Status line instead of HTTP's status line (RFC 3875 section 6). With
/// Content-Length, nginx need not chunk the body, and a client can detect a truncated body.
std::string header_block(const Response& response);

}  // namespace api
