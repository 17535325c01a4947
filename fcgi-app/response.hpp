// Building responses and writing them as a FastCGI application answers.
#pragma once

#include <string>
#include <string_view>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/http.hpp"
#include "lib/json/json.hpp"

namespace api {

Response json_response(int status, const json::Value& body);

/// `{"message": …}`
Response message_response(int status, std::string_view message);
Response error_response(const HttpError& error);

/// What comes before the body (RFC 3875 section 6: a Status line instead of HTTP's own). With its length:
/// nginx need not frame it, and a client sees when it was cut off.
std::string header_block(const Response& response);

}  // namespace api
