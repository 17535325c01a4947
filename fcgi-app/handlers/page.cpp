#include "fcgi-app/handlers/page.hpp"

#include <utility>

#include "fcgi-app/handlers/cursor.hpp"

namespace api {

PageRequest read_page_request(const Call& call, const Query& query, std::string question) {
  constexpr unsigned default_limit = 50;
  constexpr unsigned max_limit = 100;
  const auto limit = query.number("limite", 1, max_limit).value_or(default_limit);
  const auto cursor = query.text("cursor");
  const auto before = cursor ? std::optional(read_cursor(call.keys, question, *cursor)) : std::nullopt;
  return {std::move(question), limit, before};
}

Response page_response(json::Writer& writer, const Call& call, const Query& query, const PageRequest& page,
                       std::optional<std::int64_t> next) {
  const auto cursor = next ? std::optional(make_cursor(call.keys, page.question, *next)) : std::nullopt;
  writer.member("siguiente", cursor);
  writer.end_object();
  Response response{200, writer.take()};
  if (cursor) {
    const auto reference = "?" + query.without("cursor") + "cursor=" + *cursor;
    response.headers.push_back({"Link", "<" + reference + ">; rel=\"next\""});
  }
  return response;
}

}  // namespace api
