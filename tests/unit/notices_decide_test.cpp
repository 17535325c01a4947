// notices/decide: which notices follow from the state of the tables.
#include "notices/decide.hpp"

#include <boost/test/unit_test.hpp>

#include "lib/json/json.hpp"
#include "notices/post.hpp"
#include "notices/texts.hpp"

using namespace notices;
using namespace std::chrono_literals;
using contacts::Kind;
using contacts::KindSet;
using platform::UtcTime;
using std::chrono::days;
using store::NewNotice;

namespace {

const UtcTime now = platform::parse_iso8601("2026-11-30T12:00:00Z").value();

KindSet only(Kind kind) {
  KindSet kinds;
  kinds.insert(kind);
  return kinds;
}

store::NoticeContact contact(KindSet kinds = KindSet::all()) {
  return {.id = 5, .entity = 7, .address = "a@example.org", .kinds = kinds, .confirmed = true};
}

store::WebhookFacts working() {
  return {.id = 3, .entity = 7, .name = "Producción", .host = "x.example.org", .worked_at = now - 1min};
}

store::WebhookFacts failing(platform::Milliseconds since, std::int64_t failures = 20) {
  auto facts = working();
  facts.worked_at.reset();
  facts.failures = failures;
  facts.failing_since = now - since;
  facts.last_error = "El receptor respondió 500";
  return facts;
}

struct Given {
  std::vector<store::NoticeContact> contacts{contact()};
  Facts facts{};
  std::vector<store::OutageTimes::Span> outages{};
  platform::Milliseconds disable_after = days(5);

  std::vector<NewNotice> decided() const {
    const store::OutageTimes times(outages, now);
    return decide(contacts, facts, {now, times, disable_after});
  }
  /// `kind episode`, one after the other.
  std::string told() const {
    std::string text;
    for (const auto& notice : decided())
      text += (text.empty() ? "" : "; ") + notice.kind + ' ' + notice.episode;
    return text;
  }
};

std::string told(store::WebhookFacts facts) {
  Given given;
  given.facts.webhooks = {std::move(facts)};
  return given.told();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(notices_decide)

BOOST_AUTO_TEST_CASE(a_failing_webhook_is_told_after_an_hour) {
  BOOST_TEST(told(failing(59min + 59s)) == "");
  BOOST_TEST(told(failing(1h)) == "fallo w3 2026-11-30T11:00:00.000Z");
  BOOST_TEST(told(failing(1h, 1)) == "");
  BOOST_TEST(told(working()) == "");
}

BOOST_AUTO_TEST_CASE(an_outage_of_ours_does_not_count_towards_the_hour) {
  Given given;
  given.facts.webhooks = {failing(80min)};
  given.outages = {{now - 60min, now - 35min}};
  BOOST_TEST(given.told() == "");
  given.outages = {{now - 60min, now - 45min}};
  BOOST_TEST(given.told() == "fallo w3 2026-11-30T10:40:00.000Z");
}

BOOST_AUTO_TEST_CASE(a_contact_is_told_the_gravest_stage_that_it_wants) {
  BOOST_TEST(told(failing(days(3))) == "desactivacion_proxima w3 2026-11-27T12:00:00.000Z mitad");
  BOOST_TEST(told(failing(days(4) + 13h)) ==
             "desactivacion_proxima w3 2026-11-25T23:00:00.000Z nueve_decimos");
  Given given;
  given.contacts = {contact(only(Kind::failing))};
  given.facts.webhooks = {failing(days(3))};
  BOOST_TEST(given.told() == "fallo w3 2026-11-27T12:00:00.000Z");
}

BOOST_AUTO_TEST_CASE(no_deactivation_is_near_without_ten_failures_or_without_a_limit) {
  BOOST_TEST(told(failing(days(3), 9)) == "fallo w3 2026-11-27T12:00:00.000Z");
  Given given;
  given.disable_after = 0ms;
  given.facts.webhooks = {failing(days(6))};
  BOOST_TEST(given.told() == "fallo w3 2026-11-24T12:00:00.000Z");
}

BOOST_AUTO_TEST_CASE(a_stage_that_was_reached_a_week_ago_is_told_to_no_one) {
  Given given;
  given.disable_after = 0ms;
  given.facts.webhooks = {failing(days(7) + 1h)};
  BOOST_TEST(given.told() == "");
  given.disable_after = days(100);
  given.facts.webhooks = {failing(days(57) - 1ms)};
  BOOST_TEST(given.told() == "desactivacion_proxima w3 2026-10-04T12:00:00.001Z mitad");
  given.facts.webhooks = {failing(days(57))};
  BOOST_TEST(given.told() == "");
}

BOOST_AUTO_TEST_CASE(a_deactivation_is_told_unless_the_entity_has_made_it) {
  auto facts = failing(days(6));
  facts.active = false;
  facts.reason = "fallos";
  facts.deactivated = now - 1min;
  BOOST_TEST(told(facts) == "desactivado w3 2026-11-30T11:59:00.000Z");
  facts.deactivated = now - days(7);  // a contact that is confirmed later
  BOOST_TEST(told(facts) == "");
  facts.deactivated = now - days(7) + 1ms;
  BOOST_TEST(told(facts) == "desactivado w3 2026-11-23T12:00:00.001Z");
  facts.reason = "entidad";
  BOOST_TEST(told(facts) == "");
  facts.reason = "operador";
  facts.deactivated.reset();  // by a release that does not note when
  BOOST_TEST(told(facts) == "");
}

BOOST_AUTO_TEST_CASE(a_recovery_is_told_to_those_who_were_told_of_the_failure) {
  Given given;
  given.facts.webhooks = {working()};
  given.facts.told = {{.contact = 5, .webhook = 3, .notice = 8, .created = now - 1h}};
  BOOST_TEST(given.told() == "recuperado w3 tras 8");
  given.facts.told.front().contact = 6;
  BOOST_TEST(given.told() == "");
  given.facts.told.front().contact = 5;
  given.facts.told.front().created = now;  // it has not worked since
  BOOST_TEST(given.told() == "");
  given.facts.told.front().created = now - 1h;
  given.facts.webhooks = {failing(10min)};
  BOOST_TEST(given.told() == "");
}

BOOST_AUTO_TEST_CASE(a_certificate_is_told_14_and_3_days_ahead) {
  auto facts = working();
  const auto told_with = [&](platform::Milliseconds left) {
    facts.certificate = now + left;
    return told(facts);
  };
  BOOST_TEST(told_with(days(14) + 1ms) == "");
  BOOST_TEST(told_with(days(14)) == "certificado w3 2026-12-14T12:00:00.000Z 14");
  BOOST_TEST(told_with(days(3) + 1ms) == "certificado w3 2026-12-03T12:00:00.001Z 14");
  BOOST_TEST(told_with(days(3)) == "certificado w3 2026-12-03T12:00:00.000Z 3");
  BOOST_TEST(told_with(-1ms) == "");
}

BOOST_AUTO_TEST_CASE(a_token_is_told_unless_it_lives_no_longer_than_the_warning) {
  Given given;
  const auto told_with = [&](platform::Milliseconds life, platform::Milliseconds left) {
    given.facts.tokens = {
        {.id = 9, .entity = 7, .label = "x", .created = now + left - life, .expires = now + left}};
    return given.told();
  };
  BOOST_TEST(told_with(days(30), days(13)) == "token t9 2026-12-13T12:00:00.000Z 14");
  BOOST_TEST(told_with(days(30), days(2)) == "token t9 2026-12-02T12:00:00.000Z 3");
  BOOST_TEST(told_with(days(10), days(9)) == "");
  BOOST_TEST(told_with(days(10), days(2)) == "token t9 2026-12-02T12:00:00.000Z 3");
  BOOST_TEST(told_with(12h, 11h) == "");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_previous_secret_is_told_a_day_ahead) {
  auto facts = working();
  facts.previous_until = now + 24h;
  BOOST_TEST(told(facts) == "secreto w3 2026-12-01T12:00:00.000Z");
  facts.previous_until = now + 24h + 1ms;
  BOOST_TEST(told(facts) == "");
  facts.previous_until = now + 23h;  // its grace was a day: the warning would come at once
  facts.changed = now - 1h;
  BOOST_TEST(told(facts) == "");
  facts.changed = now - 1h - 1ms;
  BOOST_TEST(told(facts) == "secreto w3 2026-12-01T11:00:00.000Z");
}

BOOST_AUTO_TEST_CASE(failed_deliveries_are_a_sum_of_a_day) {
  Given given;
  given.facts.webhooks = {working()};
  given.facts.failed = {{.webhook = 3, .day = std::chrono::floor<days>(now) - days(1), .deliveries = 12}};
  BOOST_TEST(given.told() == "entregas_fallidas w3 2026-11-29");
}

BOOST_AUTO_TEST_CASE(nothing_goes_to_an_address_that_is_not_confirmed_or_to_another_entity) {
  Given given;
  given.facts.webhooks = {failing(2h)};
  given.contacts.front().confirmed = false;
  BOOST_TEST(given.told() == "");
  given.contacts.front().confirmed = true;
  given.contacts.front().entity = 8;
  BOOST_TEST(given.told() == "");
}

BOOST_AUTO_TEST_CASE(an_episode_fits_its_column) {
  auto facts = failing(days(4) + 13h);
  facts.id = std::int64_t{9'000'000'000'000'000'000};
  Given given;
  given.facts.webhooks = {facts};
  for (const auto& notice : given.decided()) BOOST_TEST(notice.episode.size() <= 80U);
}

BOOST_AUTO_TEST_CASE(each_text_says_what_when_and_where) {
  Given given;
  auto off = failing(2h);
  off.id = 4;
  off.active = false;
  off.reason = "http_410";
  off.deactivated = now;
  given.facts.webhooks = {failing(2h), off};
  const auto decided = given.decided();
  BOOST_REQUIRE(decided.size() == 2U);
  for (const auto& one : decided) {
    const store::Notice notice{1, one.entity, one.webhook, one.kind, one.episode, one.data, now};
    const auto text = text_of(notice, "https://api.example.org/apientidades/portal/");
    std::string all;
    for (const auto& paragraph : text.body) all += paragraph.text + ' ' + paragraph.link + '\n';
    BOOST_TEST(all.find("«Producción» (x.example.org)") != std::string::npos);
    BOOST_TEST(all.find("30 de noviembre de 2026 a las 1") != std::string::npos);
    BOOST_TEST(all.find("https://api.example.org/apientidades/portal/#/webhooks/") != std::string::npos);
    BOOST_TEST(all.find("Qué hacer") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_failure_says_what_becomes_of_what_waits) {
  Given given;
  given.facts.webhooks = {failing(2h)};
  const auto text_with = [&](std::int64_t waiting) {
    const auto one = given.decided().front();
    std::string all;
    for (const auto& paragraph :
         text_of({1, one.entity, one.webhook, one.kind, one.episode, one.data, now, waiting}, "").body)
      all += paragraph.text + '\n';
    return all;
  };
  const auto says = [](const std::string& text, std::string_view words) {
    BOOST_TEST(text.find(words) != std::string::npos, words << " is not in: " << text);
  };
  says(text_with(1), "Hay 1 aviso en espera. ");
  says(text_with(1000), "Hay 1000 avisos en espera. ");
  says(text_with(1001), "Hay más de 1000 avisos en espera. ");
  says(text_with(0), "Qué pasa con los avisos: Cada uno se reintenta");
  says(text_with(0), "se desactivará a partir del 5 de diciembre de 2026 a las 11:00, hora peninsular");
  given.disable_after = 0ms;
  BOOST_TEST(text_with(0).find("se desactivará") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(times_are_those_of_the_peninsula_too) {
  const auto spanish = [](std::string_view text) {
    return spanish_time(platform::parse_iso8601(text).value());
  };
  BOOST_TEST(spanish("2026-11-30T19:00:00Z") ==
             "30 de noviembre de 2026 a las 20:00, hora peninsular (19:00 UTC)");
  BOOST_TEST(spanish("2026-03-29T00:59:59Z") ==
             "29 de marzo de 2026 a la 01:59, hora peninsular (00:59 UTC)");
  BOOST_TEST(spanish("2026-03-29T01:00:00Z") ==
             "29 de marzo de 2026 a las 03:00, hora peninsular (01:00 UTC)");
  BOOST_TEST(spanish("2026-10-25T00:59:59Z") ==
             "25 de octubre de 2026 a las 02:59, hora peninsular (00:59 UTC)");
  BOOST_TEST(spanish("2026-10-25T01:00:00Z") ==
             "25 de octubre de 2026 a las 02:00, hora peninsular (01:00 UTC)");
  BOOST_TEST(spanish("2027-03-28T01:00:00Z") ==
             "28 de marzo de 2027 a las 03:00, hora peninsular (01:00 UTC)");
  BOOST_TEST(spanish("2026-12-31T23:30:00Z") ==
             "1 de enero de 2027 a las 00:30, hora peninsular (31 de diciembre de 2026, 23:30 UTC)");
}

BOOST_AUTO_TEST_CASE(waits_double_up_to_two_hours) {
  BOOST_CHECK(wait_after(1) == 1min);
  BOOST_CHECK(wait_after(2) == 2min);
  BOOST_CHECK(wait_after(7) == 64min);
  BOOST_CHECK(wait_after(8) == 2h);
  BOOST_CHECK(wait_after(1000) == 2h);
}

BOOST_AUTO_TEST_SUITE_END()
