// A webhook on a page of its own (web/docs/webhooks.md#ver-un-webhook), and the version that If-Match speaks
// of.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fcgi-app/errors.hpp"
#include "fcgi-app/handlers/handlers.hpp"
#include "lib/store/webhooks/changes.hpp"

namespace api {

/// Strong (RFC 9110 section 8.8.3), with its quotes: store::version_of.
std::string etag_of(const store::WebhookDetail& detail);

/// Whether the conditions hold of a webhook in that version (RFC 9110 sections 13.1.1 and 13.1.2): a header
/// names it by `*`, or by a list with it; an empty list names none.
bool hold(const Preconditions& conditions, std::string_view etag);

/// What is said where they do not.
PreconditionFailed unmet(const Preconditions& conditions);

/// 200, with its ETag.
Response detail_response(const store::WebhookDetail& detail,
                         const std::optional<store::FailureStreak>& streak);

}  // namespace api
