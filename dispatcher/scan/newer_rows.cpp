#include "dispatcher/scan/newer_rows.hpp"

namespace dispatcher {

namespace {
constexpr std::chrono::minutes report_interval{1};
}

void NewerRows::left(std::string_view what, std::size_t count) {
  const auto now = platform::monotonic_now();
  if (count == 0 || now < next_report_) return;
  log_.info(
      "left to a newer version of the dispatcher: this one does not know their event (or may not read the "
      "table migraciones: sql/grants)",
      {{what, count}});
  next_report_ = now + report_interval;
}

}  // namespace dispatcher
