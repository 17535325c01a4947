// A request and a response of the API as plain values: only fastcgi.cpp, beside this file, sees libfcgi's
// types.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/webhook/ids.hpp"

namespace api {

inline constexpr std::size_t max_body_bytes = 65536;  // nginx already refuses longer bodies

enum class BodyState {
  complete,
  malformed,  // Content-Length is no number, or fewer bytes came than it announced
  too_large,  // Content-Length is over max_body_bytes; the body is not read
};

/// nginx sets the purpose by location; a client cannot.
enum class Purpose { api, health, metrics, unsubscribe };

/// The conditions of a change (RFC 9110 section 13.1). Each holds the joined lines of its header, and nullopt
/// without the header.
struct Preconditions {
  std::optional<std::string> if_match{};
  std::optional<std::string> if_none_match{};
  std::optional<std::string> if_unmodified_since{};
  bool any() const { return if_match || if_none_match || if_unmodified_since; }
};

/// The views point into the FastCGI request, and are valid while it lives.
struct Request {
  std::string_view id;             // nginx's $request_id, for the log
  std::string_view method;         // case-sensitive (RFC 9110 section 9.1)
  std::string_view target;         // raw REQUEST_URI, neither decoded nor normalised
  std::string_view authorization;  // the header's value; empty when there was none
  std::string_view content_type;   // the header's value; empty when there was none
  std::string body;
  BodyState body_state = BodyState::complete;
  Purpose purpose = Purpose::api;
  /// The joined lines of the header (RFC 9110 section 5.3); nullopt without the header.
  std::optional<std::string> idempotency_key{};
  Preconditions preconditions{};
  std::optional<std::string> content_encoding{};
  platform::MonotonicTime arrived{};
  /// The caller; unset until the token has been looked up.
  std::optional<webhook::EntityId> entity{};
  std::optional<webhook::TokenId> token{};
  bool has_place = false;  // counted among the requests of `entity` that run now (entity_concurrency.hpp)
};

struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

inline constexpr std::string_view json_type = "application/json; charset=utf-8";
inline constexpr std::string_view html_type = "text/html; charset=utf-8";
inline constexpr std::string_view prometheus_text_type = "text/plain; version=0.0.4; charset=utf-8";

struct Response {
  int status = 200;
  std::string body;
  std::vector<Header> headers{};  // besides Content-Type
  std::string_view content_type = json_type;
};

}  // namespace api
