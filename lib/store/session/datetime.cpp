#include "lib/store/session/datetime.hpp"

#include <algorithm>
#include <stdexcept>

#include "lib/text/text.hpp"

namespace store {

std::string format_datetime(platform::UtcTime time) {
  auto text = platform::format_iso8601(time);
  text.pop_back();  // the Z
  *std::ranges::find(text, 'T') = ' ';
  return text;
}

std::optional<platform::UtcTime> parse_datetime(std::string_view text) {
  if (!text::has_shape(text, "0000-00-00 00:00:00.000"))
    throw std::runtime_error("not a DATETIME(3): " + std::string(text));
  const auto date = platform::parse_date(text.substr(0, 10));
  const auto time = platform::parse_time_of_day(text.substr(11, 8));
  if (!date || !time) return std::nullopt;
  return *date + *time + platform::Milliseconds(text::parse_number<int>(text.substr(20)).value());
}

}  // namespace store
