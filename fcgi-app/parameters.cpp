#include "fcgi-app/parameters.hpp"

#include <charconv>

namespace api {

std::string_view find_parameter(Parameters parameters, std::string_view name) {
  for (; parameters != nullptr && *parameters != nullptr; ++parameters) {
    const std::string_view parameter(*parameters);
    if (parameter.starts_with(name) && parameter.substr(name.size()).starts_with('='))
      return parameter.substr(name.size() + 1);
  }
  return {};
}

AnnouncedBody announced_body(std::string_view content_length) {
  if (content_length.empty()) return {};
  const char* const end = content_length.data() + content_length.size();
  std::size_t length = 0;
  const auto [rest, error] = std::from_chars(content_length.data(), end, length);
  if (rest != end || error == std::errc::invalid_argument) return {BodyState::malformed, 0};
  if (error != std::errc() || length > max_body_bytes) return {BodyState::too_large, 0};
  return {BodyState::complete, length};
}

namespace {

Purpose purpose_of(std::string_view text) {
  if (text == "health") return Purpose::health;
  return text == "metrics" ? Purpose::metrics : Purpose::api;
}

}  // namespace

Request read_head(Parameters parameters) {
  Request request;
  request.purpose = purpose_of(find_parameter(parameters, "APIENTIDADES_PURPOSE"));
  request.id = find_parameter(parameters, "REQUEST_ID");
  request.method = find_parameter(parameters, "REQUEST_METHOD");
  request.target = find_parameter(parameters, "REQUEST_URI");
  request.authorization = find_parameter(parameters, "HTTP_AUTHORIZATION");
  request.content_type = find_parameter(parameters, "CONTENT_TYPE");
  request.if_match = find_parameter(parameters, "HTTP_IF_MATCH");
  return request;
}

}  // namespace api
