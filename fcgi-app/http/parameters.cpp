#include "fcgi-app/http/parameters.hpp"

#include <charconv>

namespace api {

namespace {

/// The value of `NAME=value`; nullopt if the parameter has another name.
std::optional<std::string_view> value_of(std::string_view parameter, std::string_view name) {
  if (!parameter.starts_with(name) || !parameter.substr(name.size()).starts_with('=')) return std::nullopt;
  return parameter.substr(name.size() + 1);
}

}  // namespace

std::string_view find_parameter(Parameters parameters, std::string_view name) {
  for (; parameters != nullptr && *parameters != nullptr; ++parameters)
    if (const auto value = value_of(*parameters, name)) return *value;
  return {};
}

std::optional<std::string> join_parameters(Parameters parameters, std::string_view name) {
  std::optional<std::string> joined;
  for (; parameters != nullptr && *parameters != nullptr; ++parameters) {
    const auto value = value_of(*parameters, name);
    if (!value) continue;
    joined = joined ? *joined + ", " : std::string();
    joined->append(*value);
  }
  return joined;
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
  if (text == "unsubscribe") return Purpose::unsubscribe;
  return text == "metrics" ? Purpose::metrics : Purpose::api;
}

/// Returns the lines of a header, joined: nginx passes each line as a FastCGI parameter `name`. With the
/// configuration files of an earlier release, nginx passes the FastCGI parameter `made` instead, with the
/// value of nginx's own variable for the header. In nginx 1.22 that variable has only the first line, or
/// nothing if the first line is empty.
std::optional<std::string> whole_header(Parameters parameters, std::string_view name, std::string_view made) {
  auto lines = join_parameters(parameters, name);
  return lines ? lines : join_parameters(parameters, made);
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
  request.idempotency_key = whole_header(parameters, "HTTP_IDEMPOTENCY_KEY", "IDEMPOTENCY_KEY");
  request.preconditions = {whole_header(parameters, "HTTP_IF_MATCH", "IF_MATCH"),
                           join_parameters(parameters, "HTTP_IF_NONE_MATCH"),
                           join_parameters(parameters, "HTTP_IF_UNMODIFIED_SINCE")};
  request.content_encoding = join_parameters(parameters, "HTTP_CONTENT_ENCODING");
  return request;
}

}  // namespace api
