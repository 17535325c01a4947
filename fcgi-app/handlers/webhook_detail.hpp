// A webhook as GET /webhooks/{id} shows it (web/docs/webhooks.md#ver-un-webhook), and its ETag.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/http/errors.hpp"
#include "lib/store/webhooks/changes.hpp"

namespace api {

/// Returns store::version_of(detail) in quotes: a strong ETag (RFC 9110 section 8.8.3).
std::string etag_of(const store::WebhookDetail& detail);

/// Whether `conditions` hold for a webhook with this ETag: If-Match, if present, must name the ETag, and
/// If-None-Match, if present, must not (RFC 9110 sections 13.1.1 and 13.1.2). `*` names every ETag, a list
/// those that it contains, and an empty list none.
bool are_met(const Preconditions& conditions, std::string_view etag);

/// The error for conditions that do not hold. If-Match with an ETag that lost its quotes, a usual mistake,
/// has its own message.
PreconditionFailed unmet(const Preconditions& conditions, std::string_view etag);

/// Returns 200 with the ETag.
Response detail_response(const store::WebhookDetail& detail,
                         const std::optional<store::FailureStreak>& streak);

}  // namespace api
