// The pages of a list: the parameters `limite` and `cursor`, the member `siguiente` and the header Link
// (web/docs/entregas.md#filtrar-y-pasar-de-página).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/http/query.hpp"
#include "lib/json/json_writer.hpp"

namespace api {

struct PageRequest {
  std::string question;                // what a cursor of this list is bound to (cursor.hpp)
  unsigned limit;                      // 1 to 100
  std::optional<std::int64_t> before;  // the position in `cursor`; unset: the first page
};

/// Reads `limite` (50 if it is absent) and `cursor`. Throws BadRequest.
PageRequest read_page_request(const Call& call, const Query& query, std::string question);

/// Ends the object that `writer` has open with `siguiente`, and returns it as 200. `next`: the position that
/// the next page begins after; unset: this page is the last. A page with a next one has the header Link: the
/// same list from `siguiente` on, as a relative reference (RFC 3986 section 4.2) with the relation `next`
/// (RFC 8288).
Response page_response(json::Writer& writer, const Call& call, const Query& query, const PageRequest& page,
                       std::optional<std::int64_t> next);

}  // namespace api
