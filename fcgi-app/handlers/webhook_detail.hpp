// A webhook on a page of its own (docs/api.md#ver-un-webhook), and the version that If-Match speaks of.
#pragma once

#include <string>
#include <string_view>

#include "fcgi-app/handlers/handlers.hpp"
#include "store/webhooks/changes.hpp"

namespace api {

/// Strong (RFC 9110 section 8.8.3), of its configuration alone: deliveries do not change it. With its quotes.
std::string etag_of(const store::WebhookDetail& detail);

/// Whether If-Match names that version: `*`, or a list with it. Absent (empty) it names every one.
bool is_expected(std::string_view if_match, std::string_view etag);

/// 200, with its ETag.
Response detail_response(const Call& call, const store::WebhookDetail& detail);

}  // namespace api
