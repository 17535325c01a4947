#include "admin/output/queue_screen.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>
#include <vector>

#include "admin/output/display_width.hpp"
#include "lib/text/utf8.hpp"

BOOST_AUTO_TEST_SUITE(admin_queue_screen)

namespace {

using namespace std::chrono_literals;
using admin::QueueSight;

QueueSight sight(store::QueueStatus status, std::chrono::seconds at = 0s) {
  return {status, platform::MonotonicTime(at)};
}

store::QueueStatus busy() {
  return {.pending_notifications = 1234567,
          .pending_deliveries = 40,
          .in_flight = 5,
          .held = 0,
          .failed = 0,
          .rejected = 2,
          .oldest_s = 75,
          .oldest_notification_s = 75,
          .oldest_delivery_s = 0,
          .paused = false};
}

/// The screen's lines without escape sequences.
std::vector<std::string> shown(const std::string& drawn) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i] == '\x1b') {
      i = drawn.find_first_of("HJKm", i);
    } else if (drawn[i] == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += drawn[i];
    }
  }
  return lines;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const auto& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(ages) {
  BOOST_TEST(admin::describe_age(0) == "0 s");
  BOOST_TEST(admin::describe_age(59) == "59 s");
  BOOST_TEST(admin::describe_age(200) == "3 min 20 s");
  BOOST_TEST(admin::describe_age(3600) == "1 h 00 min");
  BOOST_TEST(admin::describe_age(86400 * 3 + 4 * 3600) == "3 d 4 h");
}

BOOST_AUTO_TEST_CASE(numbers_and_what_changes_per_second) {
  auto later = busy();
  later.pending_notifications -= 300;
  const auto lines = shown(admin::draw_queue(sight(later, 2s), sight(busy()), "T", {}));
  BOOST_TEST(has(lines, "1,234,267      -150.0/s"));
  BOOST_TEST(has(lines, "mas_antigua"));
  BOOST_TEST(has(lines, "1 min 15 s"));
  BOOST_TEST(has(lines, "notification list --state rechazada"));
  BOOST_TEST(!has(lines, "fallida "));
}

BOOST_AUTO_TEST_CASE(the_first_look_has_no_rates) {
  BOOST_TEST(!has(shown(admin::draw_queue(sight(busy()), std::nullopt, "T", {})), "/s"));
}

BOOST_AUTO_TEST_CASE(a_jump_of_the_clock_is_named_until_it_is_accepted) {
  BOOST_TEST(admin::alarms_of(sight(busy())).empty());
  auto status = busy();
  status.clock_jump_s = -86400;
  const admin::Screen wide{.width = 200};
  BOOST_TEST(has(shown(admin::draw_queue(sight(status), std::nullopt, "T", wide)),
                 "gone back by 1 d 0 h: what waits may wait so much longer"));
  status.clock_jump_s = 86400;
  BOOST_TEST(admin::alarms_of(sight(status))
                 .at(0)
                 .text.starts_with("CLOCK: the database's clock has jumped forward by 1 d 0 h"));
}

BOOST_AUTO_TEST_CASE(a_sandbox_cannot_be_overlooked) {
  auto seen = sight(busy());
  seen.sandbox = true;
  BOOST_TEST(
      has(shown(admin::draw_queue(seen, std::nullopt, "T", {.width = 200})), "SANDBOX: deliveries to hosts"));
  BOOST_TEST((admin::alarms_of(seen).at(0).level == admin::Level::critical));
}

BOOST_AUTO_TEST_CASE(a_pause_cannot_be_overlooked) {
  auto status = busy();
  status.paused = true;
  BOOST_TEST(has(shown(admin::draw_queue(sight(status), std::nullopt, "T", {})), "PAUSED"));
}

BOOST_AUTO_TEST_CASE(colours_only_when_asked_for) {
  BOOST_TEST(admin::draw_queue(sight(busy()), std::nullopt, "T", {.colours = true}).find("\x1b[1;31m") !=
             std::string::npos);
  const auto plain = admin::draw_queue(sight(busy()), std::nullopt, "T", {});
  for (std::size_t at = 0; (at = plain.find('\x1b', at)) != std::string::npos; ++at)
    BOOST_TEST(plain[plain.find_first_of("HJKm", at)] != 'm');
}

BOOST_AUTO_TEST_CASE(it_fits_any_terminal) {
  for (const std::size_t width : {1U, 20U, 79U, 300U}) {
    for (const std::size_t height : {1U, 2U, 5U, 100U}) {
      const auto lines = shown(admin::draw_queue(sight(busy()), std::nullopt, "T", {width, height, true}));
      BOOST_TEST(lines.size() <= std::max<std::size_t>(height, 2));
      for (const auto& line : lines) BOOST_TEST(admin::display_width(line) <= width);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pause_reason_is_never_cut_inside_a_character) {
  auto now = sight(busy());
  now.pauses.push_back({.what = store::Paused::host,
                        .object = "a.test",
                        .until = {},
                        .left = {},
                        .since = {},
                        .reason = "Año 2026: 漢字, señal"});
  for (std::size_t width = 1; width < 90; ++width) {
    for (const auto& line : shown(admin::draw_queue(now, std::nullopt, "T", {width, 50, false}))) {
      BOOST_TEST(text::count_characters(line).has_value());
      BOOST_TEST(admin::display_width(line) <= width);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_check_judges_the_oldest_and_the_alarms) {
  const auto check = [](const QueueSight& now) {
    const auto [level, text] = admin::check_queue(now, {.warning = 60s, .critical = 600s});
    return std::to_string(static_cast<int>(level)) + ' ' + text.substr(0, text.find(" | "));
  };
  auto now = sight(busy());
  now.status.oldest_s = 59;
  BOOST_TEST(check(now) == "0 QUEUE OK - the oldest waits for 59 s");
  now.status.oldest_s = 60;
  BOOST_TEST(check(now) == "1 QUEUE WARNING - the oldest waits for 1 min 00 s");
  now.status.oldest_s = 600;
  BOOST_TEST(check(now) == "2 QUEUE CRITICAL - the oldest waits for 10 min 00 s");
  now.status.oldest_s = 0;
  now.pauses.push_back({store::Paused::host, "a.example.com", {}, {}, {}, {}});
  BOOST_TEST(
      check(now).starts_with("1 QUEUE WARNING - the oldest waits for 0 s; paused: host a.example.com"));
  now.pauses.front().reason = "a|b\nc";
  BOOST_TEST((check(now).find("(a/b") != std::string::npos && check(now).find('\n') == std::string::npos));
  now.without_dispatcher_s = 60;
  BOOST_TEST(check(now).starts_with("1 "));
  now.without_dispatcher_s = 61;
  BOOST_TEST(check(now).starts_with(
      "2 QUEUE CRITICAL - the oldest waits for 0 s; NO DISPATCHER has noted for 1 min 01 s that it works"));
}

BOOST_AUTO_TEST_CASE(a_check_has_data_for_a_graph) {
  const auto text = admin::check_queue(sight(busy()), {}).text;
  BOOST_TEST(text.ends_with(
      " | mas_antigua=75s;60;600 notificaciones_pendientes=1234567 entregas_pendientes=40 en_curso=5"
      " retenidas=0 fallidas=0 rechazadas=2"));
}

BOOST_AUTO_TEST_SUITE_END()
