// A request and a response of the API as plain values: what everything here but fastcgi.cpp works with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/delivery/ids.hpp"
#include "lib/platform/clock.hpp"

namespace api {

inline constexpr std::size_t max_body_bytes = 65536;  // nginx refuses more before we do

enum class BodyState {
  complete,
  malformed,  // no valid length, or fewer bytes than announced
  too_large,  // announced as more than max_body_bytes, and not read
};

/// What a request is for. nginx says so, by the location that it came through; a client cannot.
enum class Purpose { api, health, metrics };

/// RFC 9110 section 13.1, of a request that changes something: each header's lines joined; nullopt when there
/// was none.
struct Preconditions {
  std::optional<std::string> if_match{};
  std::optional<std::string> if_none_match{};
  std::optional<std::string> if_unmodified_since{};
  bool any() const { return if_match || if_none_match || if_unmodified_since; }
};

/// The views belong to the FastCGI request and die with it.
struct Request {
  std::string_view id;             // nginx's $request_id, for the log
  std::string_view method;         // case-sensitive (RFC 9110 section 9.1)
  std::string_view target;         // REQUEST_URI, raw: neither decoded nor normalised
  std::string_view authorization;  // the header's value; empty when there was none
  std::string_view content_type;   // the header's value; empty when there was none
  std::string body;
  BodyState body_state = BodyState::complete;
  Purpose purpose = Purpose::api;
  /// All of their lines, joined as RFC 9110 section 5.3 says; nullopt when there was none.
  std::optional<std::string> idempotency_key{};
  Preconditions preconditions{};
  std::optional<std::string> content_encoding{};
  platform::MonotonicTime arrived{};
  /// Its entity, once that is known, and whether it has a place among those in course (EntityConcurrency).
  std::optional<delivery::EntityId> entity{};
  std::optional<std::int64_t> token{};
  bool has_place = false;
};

struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

inline constexpr std::string_view json_type = "application/json; charset=utf-8";
inline constexpr std::string_view prometheus_text_type = "text/plain; version=0.0.4; charset=utf-8";

struct Response {
  int status = 200;
  std::string body;
  std::vector<Header> headers{};  // besides Content-Type
  std::string_view content_type = json_type;
};

}  // namespace api
