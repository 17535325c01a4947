// A webhook on a page of its own (docs/api.md#ver-un-webhook), and the version that If-Match speaks of.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi-app/handlers/handlers.hpp"
#include "store/webhooks/changes.hpp"

namespace api {

/// Strong (RFC 9110 section 8.8.3), with its quotes: store::version_of.
std::string etag_of(const store::WebhookDetail& detail);

/// Whether If-Match names that version (RFC 9110 section 13.1.1): `*`, or a list with it; an empty list names
/// none. Absent it names every one.
bool is_expected(const std::optional<std::string>& if_match, std::string_view etag);

/// 200, with its ETag.
Response detail_response(const store::WebhookDetail& detail,
                         const std::optional<store::FailureStreak>& streak);

}  // namespace api
