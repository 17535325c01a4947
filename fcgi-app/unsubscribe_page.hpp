// The pages of the link by which a person ends the notices by mail (RFC 8058; contacts::unsubscribe_target):
// Spanish HTML without a script. Pure.
#pragma once

#include <string_view>

#include "fcgi-app/http/http.hpp"

namespace api {

enum class UnsubscribePage {
  question,     // 200, with a button that sends the POST
  done,         // 200
  invalid,      // 404: the link is not ours, or has ended
  unavailable,  // 503
};
Response unsubscribe_page(UnsubscribePage page);

/// The token in the query of a link; empty if the query has another form.
std::string_view unsubscribe_token_in(std::string_view query);

}  // namespace api
