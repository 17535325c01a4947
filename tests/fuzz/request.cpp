// Checks what the API does with a request before it needs the database. The input is the parameters of a
// FastCGI request, separated by zero bytes.
#include <algorithm>
#include <vector>

#include "fcgi-app/http/parameters.hpp"
#include "fcgi-app/routes.hpp"
#include "fcgi-app/service.hpp"
#include "lib/platform/log.hpp"
#include "lib/webhook/access_token.hpp"
#include "tests/fuzz/property.hpp"

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parameters;
  while (!text.empty()) {
    parameters.emplace_back(text.substr(0, text.find('\0')));
    text.remove_prefix(std::min(parameters.back().size() + 1, text.size()));
  }
  return parameters;
}

/// The value of the first parameter of this name, found without the code under test.
std::string_view value_of(const std::vector<std::string>& parameters, const std::string& name) {
  const auto found =
      std::ranges::find_if(parameters, [&](const std::string& p) { return p.rfind(name + "=", 0) == 0; });
  return found == parameters.end() ? std::string_view() : std::string_view(*found).substr(name.size() + 1);
}

void check_length(std::string_view text) {
  const auto announced = api::announced_body(text);
  fuzz::require(announced.length <= api::max_body_bytes, "no more than is allowed is read");
  if (announced.state != api::BodyState::complete) {
    fuzz::require(announced.length == 0, "a refused body is not read");
  } else if (!text.empty()) {
    const auto digits = text.substr(std::min(text.find_first_not_of('0'), text.size() - 1));
    fuzz::require(digits == std::to_string(announced.length), "the length is the number that is written");
  }
}

void check_route(const api::Request& request) {
  const auto match = api::match_route(request.method, request.target);
  if (match.pattern.empty()) return;
  fuzz::require(request.target.starts_with(api::base_path), "every route is below the base path");
  fuzz::require((match.route == nullptr) == !match.allow.empty(),
                "a match has a route or a list of methods, never both");
  fuzz::require(match.route == nullptr || match.route->method == request.method,
                "the route has the request's method");
  const auto open_segments = std::ranges::count(match.pattern, '{');
  for (std::size_t i = 0; i < match.parameters.size(); ++i) {
    const auto parameter = match.parameters.at(i);
    fuzz::require((static_cast<std::ptrdiff_t>(i) < open_segments) == !parameter.empty(),
                  "the pattern's ids, and no others, are there");
    fuzz::require(parameter.find_first_of("/?") == std::string_view::npos, "an id is one segment");
  }
}

void check_credentials(std::string_view authorization) {
  const auto credentials = webhook::parse_authorization(authorization);
  if (!credentials.hash) return;
  fuzz::require(credentials.present, "a token is a credential");
  const auto at = authorization.find("apie_");
  fuzz::require(at != std::string_view::npos, "a token has its prefix");
  const auto token = authorization.substr(at, authorization.find_first_of(" \t", at) - at);
  fuzz::require(webhook::access_token_hash(token) == credentials.hash,
                "the token is the one that is written");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto texts = split(fuzz::text_of(data, size));
  std::vector<const char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) pointers.push_back(text.c_str());
  pointers.push_back(nullptr);
  const api::Request request = api::read_head(pointers.data());
  fuzz::require(request.method == value_of(texts, "REQUEST_METHOD"), "the method is the parameter's");
  fuzz::require(request.target == value_of(texts, "REQUEST_URI"), "the target is the parameter's");
  fuzz::require(request.authorization == value_of(texts, "HTTP_AUTHORIZATION"),
                "the credentials are the parameter's");
  fuzz::require(request.content_type == value_of(texts, "CONTENT_TYPE"), "the type is the parameter's");
  check_length(value_of(texts, "CONTENT_LENGTH"));
  check_route(request);
  check_credentials(request.authorization);
  api::is_json(request.content_type);
  const auto line =
      platform::format_log_line("request", {{"request", request.id}, {"method", request.method}});
  fuzz::require(std::ranges::none_of(line, [](unsigned char c) { return c < ' ' || c == 0x7f; }),
                "a log line is one line");
  return 0;
}
