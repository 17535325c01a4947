// The requests of a diagnosis, and its findings from the answers.
#include "lib/delivery/diagnosis.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "lib/json/json.hpp"

using namespace delivery;
using namespace std::chrono_literals;
using Result = CheckResult;
using Kind = TestRequestKind;

namespace {

const platform::UtcTime now{1764000000000ms};
const auto public_address = *platform::IpAddress::parse("203.0.114.20");
const auto other_address = *platform::IpAddress::parse("203.0.114.21");

/// How a receiver answers. The defaults are the answers of a correct receiver.
struct Receiver {
  std::vector<platform::IpAddress> addresses{public_address};
  std::map<platform::IpAddress, TransportResult> broken{};  // how the handshake with an address fails
  TlsFacts tls{"TLS 1.3", 2, now + std::chrono::days(60)};
  std::map<Kind, int> status{
      {Kind::genuine, 200},          {Kind::rewritten, 200},     {Kind::wrong_signature, 401},
      {Kind::no_signature, 401},     {Kind::old_timestamp, 400}, {Kind::repeated, 200},
      {Kind::large_body, 200},       {Kind::charset, 200},       {Kind::header_case, 200},
      {Kind::second_signature, 200}, {Kind::unknown_event, 200}};
  std::map<Kind, TransportResult> transport{};
  platform::Milliseconds took{20};
  std::map<Kind, Observation::Kept> kept{{Kind::wrong_signature, Observation::Kept::used},
                                         {Kind::repeated, Observation::Kept::used}};
  bool says_closed = false;
};

struct Fixture {
  config::DeliverySettings settings{};
  Diagnosis::Subject subject{"https://receptor.example.es/avisos", true, false, {}, 60s};
  platform::MonotonicTime clock{};
  std::vector<Kind> asked{};

  Attempt answer(const Receiver& receiver, const TestRequest& test_request) {
    Attempt attempt;
    attempt.observed = std::make_shared<Observation>();
    attempt.transport = TransportResult::answered;
    attempt.duration = receiver.took;
    attempt.ended = clock += receiver.took;
    auto& seen = *attempt.observed;
    if (test_request.kind == Kind::lookup) {
      seen.addresses = receiver.addresses;
      if (seen.addresses.empty()) attempt.transport = TransportResult::name_unresolved;
    } else if (test_request.kind == Kind::handshake) {
      const auto broken = receiver.broken.find(*test_request.address);
      seen.connected = broken == receiver.broken.end();
      attempt.transport = seen.connected ? TransportResult::bad_response : broken->second;
      if (seen.connected) seen.tls = receiver.tls;
    } else {
      attempt.status = receiver.status.at(test_request.kind);
      if (const auto other = receiver.transport.find(test_request.kind); other != receiver.transport.end())
        attempt.transport = other->second;
      if (const auto kept = receiver.kept.find(test_request.kind); kept != receiver.kept.end())
        seen.kept = kept->second;
      seen.says_closed = receiver.says_closed;
      seen.left_open = !receiver.says_closed;
    }
    return attempt;
  }

  Diagnosis diagnose(const Receiver& receiver, std::size_t most = 20) {
    asked.clear();
    Diagnosis diagnosis(subject, settings, now);
    for (auto test_requests = diagnosis.next(); !test_requests.empty() && asked.size() < most;
         test_requests = diagnosis.next())
      for (const auto& test_request : test_requests) {
        asked.push_back(test_request.kind);
        diagnosis.note(test_request, answer(receiver, test_request));
      }
    return diagnosis;
  }

  /// The results that are not good, by the check's name.
  static std::map<std::string, Result> not_good(const DiagnosisFindings& findings) {
    std::map<std::string, Result> result;
    for (const auto& item : findings)
      if (item.result != Result::good) result.emplace(name(item.check), item.result);
    return result;
  }
  std::map<std::string, Result> not_good(const Receiver& receiver) {
    return not_good(diagnose(receiver).findings());
  }
  CheckedItem item(const Receiver& receiver, Check check) {
    const auto findings = diagnose(receiver).findings();
    return findings.at(static_cast<std::size_t>(check));
  }
};

using Found = std::map<std::string, Result>;
const Found after_connection{
    {"autentica", Result::not_done},          {"tiempo", Result::not_done},
    {"conexion_mantenida", Result::not_done}, {"firma_incorrecta", Result::not_done},
    {"sin_firma", Result::not_done},          {"fecha_antigua", Result::not_done},
    {"repetida", Result::not_done},           {"cuerpo_grande", Result::not_done},
    {"tipo_contenido", Result::not_done},     {"cabeceras_mayusculas", Result::not_done},
    {"segunda_firma", Result::not_done},      {"evento_desconocido", Result::not_done}};
const Found no_rare_form{{"cuerpo_grande", Result::not_done},
                         {"tipo_contenido", Result::not_done},
                         {"cabeceras_mayusculas", Result::not_done},
                         {"segunda_firma", Result::not_done},
                         {"evento_desconocido", Result::not_done}};
Found with(Found found, const Found& more) {
  for (const auto& [name, result] : more) found[name] = result;
  return found;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(diagnosis, Fixture)

BOOST_AUTO_TEST_CASE(a_good_receiver_is_asked_everything_once_and_all_is_well) {
  BOOST_TEST(not_good(Receiver{}).empty());
  const std::vector<Kind> all{Kind::lookup,          Kind::handshake,        Kind::genuine,
                              Kind::wrong_signature, Kind::no_signature,     Kind::old_timestamp,
                              Kind::repeated,        Kind::large_body,       Kind::charset,
                              Kind::header_case,     Kind::second_signature, Kind::unknown_event};
  BOOST_CHECK(asked == all);
  for (const auto& item : diagnose(Receiver{}).findings()) {
    BOOST_TEST(!item.detail.empty());
    BOOST_TEST(item.remedy.empty());
  }
}

BOOST_AUTO_TEST_CASE(each_problem_has_a_remedy_and_each_finding_a_detail) {
  for (const auto& receiver :
       {Receiver{.addresses = {}}, Receiver{.status = {{Kind::genuine, 500}, {Kind::rewritten, 500}}},
        Receiver{.broken = {{public_address, TransportResult::tls_expired}}}})
    for (const auto& item : diagnose(receiver).findings()) {
      BOOST_TEST(!item.detail.empty());
      if (item.result == Result::bad || item.result == Result::warning) BOOST_TEST(!item.remedy.empty());
    }
}

BOOST_AUTO_TEST_CASE(accepting_wrong_signatures_is_bad_and_an_old_date_a_warning) {
  Receiver receiver;
  for (auto& [kind, status] : receiver.status) status = 204;
  BOOST_CHECK((not_good(receiver) == Found{{"firma_incorrecta", Result::bad},
                                           {"sin_firma", Result::bad},
                                           {"fecha_antigua", Result::warning}}));
}

BOOST_AUTO_TEST_CASE(a_repetition_that_is_refused_is_a_warning) {
  Receiver receiver;
  receiver.status[Kind::repeated] = 409;
  BOOST_CHECK((not_good(receiver) == Found{{"repetida", Result::warning}}));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_a_4xx_and_anything_else_a_warning) {
  const std::map<int, Result> expected{{400, Result::good},    {401, Result::good}, {403, Result::good},
                                       {410, Result::good},    {422, Result::good}, {301, Result::warning},
                                       {500, Result::warning}, {200, Result::bad},  {299, Result::bad}};
  for (const auto& [status, result] : expected) {
    Receiver receiver;
    receiver.status[Kind::no_signature] = status;
    BOOST_TEST((item(receiver, Check::no_signature).result == result), status);
  }
  Receiver silent;
  silent.transport[Kind::no_signature] = TransportResult::timeout;
  BOOST_CHECK(item(silent, Check::no_signature).result == Result::warning);
}

BOOST_AUTO_TEST_CASE(without_a_secret_nothing_is_asked_of_signatures) {
  subject.has_secret = false;
  BOOST_CHECK((not_good(Receiver{}) == Found{{"firma_incorrecta", Result::not_done},
                                             {"sin_firma", Result::not_done},
                                             {"fecha_antigua", Result::not_done},
                                             {"segunda_firma", Result::not_done}}));
  BOOST_CHECK(
      (asked == std::vector<Kind>{Kind::lookup, Kind::handshake, Kind::genuine, Kind::repeated,
                                  Kind::large_body, Kind::charset, Kind::header_case, Kind::unknown_event}));
}

BOOST_AUTO_TEST_CASE(a_refused_genuine_request_ends_the_requests) {
  for (const int status : {302, 401, 404, 410, 429, 500, 503}) {
    Receiver receiver;
    receiver.status[Kind::genuine] = receiver.status[Kind::rewritten] = status;
    auto expected = after_connection;
    expected["autentica"] = Result::bad;
    expected.erase("tiempo");
    BOOST_TEST((not_good(receiver) == expected), status);
    const bool of_signature = status == 401 || status == 500;
    BOOST_TEST((asked.back() == (of_signature ? Kind::rewritten : Kind::genuine)), status);
  }
}

BOOST_AUTO_TEST_CASE(a_receiver_that_verifies_what_it_writes_again_is_told_so) {
  constexpr auto page = "/apientidades/docs/verificar-la-firma.html#en-su-framework";
  Receiver receiver;
  receiver.status[Kind::genuine] = 401;
  BOOST_TEST(item(receiver, Check::genuine).detail ==
             "La notificación auténtica se rechazó con 401, y una vez repetida se aceptó con 200");
  receiver.status[Kind::repeated] = 401;
  const auto found = item(receiver, Check::genuine);
  BOOST_CHECK(found.result == Result::bad);
  BOOST_TEST(
      found.detail ==
      "La notificación auténtica se rechazó con 401; la misma, como la escribe una biblioteca de JSON, "
      "se aceptó con 200");
  BOOST_TEST(
      found.remedy.starts_with("La firma se comprueba sobre los bytes recibidos, antes de interpretar"));
  BOOST_TEST(found.remedy.find(page) != std::string::npos);
  receiver.status[Kind::rewritten] = 401;  // another secret, or another way of writing
  const auto unsure = item(receiver, Check::genuine);
  BOOST_TEST(unsure.detail == "La notificación auténtica se rechazó con 401");
  BOOST_TEST(unsure.remedy.find("el secreto de este webhook") != std::string::npos);
  BOOST_TEST(unsure.remedy.find(page) != std::string::npos);
  subject.has_secret = false;
  diagnose(receiver);
  BOOST_TEST((asked.back() == Kind::genuine));
}

BOOST_AUTO_TEST_CASE(a_receiver_that_asks_to_wait_gets_no_more_requests) {
  for (const int status : {429, 503}) {
    Receiver receiver;
    receiver.status[Kind::wrong_signature] = status;
    BOOST_TEST((not_good(receiver) == with(no_rare_form, {{"firma_incorrecta", Result::warning},
                                                          {"sin_firma", Result::not_done},
                                                          {"fecha_antigua", Result::not_done},
                                                          {"repetida", Result::not_done}})),
               status);
    BOOST_TEST((asked.back() == Kind::wrong_signature), status);
  }
}

BOOST_AUTO_TEST_CASE(a_refused_rare_form_is_a_warning_with_a_remedy) {
  std::set<std::string> remedies;
  for (const auto kind : rare_forms) {
    Receiver receiver;
    receiver.status[kind] = 400;
    const std::string name(delivery::name(check_of(kind)));
    BOOST_TEST((not_good(receiver) == Found{{name, Result::warning}}), name);
    const auto found = item(receiver, check_of(kind));
    BOOST_TEST(found.detail.ends_with(": se respondió 400"), name);
    remedies.insert(found.remedy);
    receiver.transport[kind] = TransportResult::closed;
    const auto closed = item(receiver, check_of(kind));
    BOOST_TEST(closed.detail.ends_with("cerró la conexión sin responder"), name);
    BOOST_TEST(closed.remedy != found.remedy, name);
    receiver.transport.erase(kind);
    receiver.status[kind] = 503;
    BOOST_CHECK(item(receiver, check_of(kind)).result == Result::not_done);
  }
  BOOST_TEST(remedies.size() == rare_forms.size());
}

BOOST_AUTO_TEST_CASE(a_slow_receiver_is_asked_for_about_a_minute) {
  Receiver slow{.took = 12s};
  BOOST_TEST((not_good(slow) == with(no_rare_form, {{"tiempo", Result::warning}})));
  BOOST_TEST(item(slow, Check::large_body).detail.find("tardó demasiado") != std::string::npos);
  slow.took = 7s;  // 42 s before the first of them, 56 s before the third
  not_good(slow);
  BOOST_TEST((asked.back() == Kind::header_case));
}

BOOST_AUTO_TEST_CASE(a_name_without_addresses_ends_it) {
  BOOST_CHECK((not_good(Receiver{.addresses = {}}) ==
               with(after_connection, {{"nombre", Result::bad},
                                       {"direcciones", Result::not_done},
                                       {"conexion", Result::not_done},
                                       {"tls", Result::not_done},
                                       {"certificado", Result::not_done},
                                       {"nombre_certificado", Result::not_done}})));
  BOOST_CHECK((asked == std::vector<Kind>{Kind::lookup}));
}

BOOST_AUTO_TEST_CASE(each_failure_of_a_handshake_is_of_its_own_check) {
  using enum TransportResult;
  const Found tls{
      {"tls", Result::not_done}, {"certificado", Result::not_done}, {"nombre_certificado", Result::not_done}};
  const std::map<TransportResult, Found> expected{
      {address_refused,
       with(tls,
            {{"nombre", Result::bad}, {"direcciones", Result::not_done}, {"conexion", Result::not_done}})},
      {port_refused, with(tls, {{"conexion", Result::bad}})},
      {connection_failed, with(tls, {{"conexion", Result::bad}})},
      {connection_timeout, with(tls, {{"conexion", Result::bad}})},
      {tls_failed, with(tls, {{"tls", Result::bad}})},
      {closed, with(tls, {{"tls", Result::bad}})},
      {tls_client_wanted, with(tls, {{"tls", Result::bad}})},
      {tls_expired, {{"certificado", Result::bad}, {"nombre_certificado", Result::not_done}}},
      {tls_untrusted, {{"certificado", Result::bad}, {"nombre_certificado", Result::not_done}}},
      {tls_weak, {{"certificado", Result::bad}, {"nombre_certificado", Result::not_done}}},
      {tls_wrong_purpose, {{"certificado", Result::bad}, {"nombre_certificado", Result::not_done}}},
      {tls_wrong_name, {{"nombre_certificado", Result::bad}}}};
  for (const auto& [result, found] : expected) {
    BOOST_TEST((not_good(Receiver{.broken = {{public_address, result}}}) == with(after_connection, found)),
               static_cast<int>(result));
    BOOST_TEST((asked == std::vector<Kind>{Kind::lookup, Kind::handshake}), static_cast<int>(result));
  }
}

BOOST_AUTO_TEST_CASE(a_second_failing_address_is_a_warning_unless_its_certificate_fails) {
  using enum TransportResult;
  const std::map<TransportResult, Found> expected{{address_refused, {{"direcciones", Result::warning}}},
                                                  {connection_failed, {{"conexion", Result::warning}}},
                                                  {connection_timeout, {{"conexion", Result::warning}}},
                                                  {tls_expired, {{"certificado", Result::bad}}},
                                                  {tls_wrong_name, {{"nombre_certificado", Result::bad}}}};
  for (const auto& [result, found] : expected)
    BOOST_TEST((not_good(Receiver{.addresses = {public_address, other_address},
                                  .broken = {{other_address, result}}}) == found),
               static_cast<int>(result));
}

BOOST_AUTO_TEST_CASE(four_addresses_at_most_are_dialled) {
  Receiver receiver;
  receiver.addresses.assign(16, public_address);
  diagnose(receiver);
  BOOST_TEST(std::ranges::count(asked, Kind::handshake) == 4);
}

BOOST_AUTO_TEST_CASE(every_address_is_judged_though_four_are_dialled) {
  const auto inner = *platform::IpAddress::parse("10.0.0.1");
  Receiver receiver{.addresses = std::vector(5, public_address)};
  BOOST_TEST(not_good(receiver).empty());
  receiver.addresses.push_back(inner);
  BOOST_CHECK((not_good(receiver) == Found{{"direcciones", Result::warning}}));
  const auto text = item(receiver, Check::addresses).detail;
  BOOST_TEST(text.find("10.0.0.1") == std::string::npos);
  BOOST_TEST(text.find("Alguna de las direcciones no es") == 0U);
  Receiver behind{.addresses = std::vector(4, inner), .broken = {{inner, TransportResult::address_refused}}};
  BOOST_TEST(to_json(diagnose(behind).findings()) == to_json(diagnose(Receiver{.addresses = {}}).findings()));
  behind.addresses.push_back(public_address);  // a delivery would reach the receiver at this address
  BOOST_CHECK((not_good(behind) == Found{{"direcciones", Result::warning}}));
}

BOOST_AUTO_TEST_CASE(an_address_that_may_not_be_dialled_is_never_shown_nor_one_that_the_operator_allows) {
  const Receiver receiver{.addresses = {public_address, other_address},
                          .broken = {{other_address, TransportResult::address_refused}}};
  const auto shown = to_json(diagnose(receiver).findings());
  BOOST_TEST(shown.find("203.0.114.20") != std::string::npos);
  BOOST_TEST(shown.find("203.0.114.21") == std::string::npos);
  subject.hidden = {*platform::IpNetwork::parse("203.0.114.0/24")};
  BOOST_TEST(to_json(diagnose(receiver).findings()).find("203.0.114") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_certificate_that_ends_soon_is_a_warning) {
  for (const auto& [days, result] :
       std::map<int, Result>{{0, Result::warning}, {13, Result::warning}, {14, Result::good}}) {
    Receiver receiver;
    receiver.tls.until = now + std::chrono::days(days) + 1h;
    const auto found = item(receiver, Check::certificate);
    BOOST_TEST((found.result == result), days);
    BOOST_TEST(found.detail.find(std::to_string(days) + " día") != std::string::npos);
    BOOST_TEST(found.detail.find("2 certificados") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_weak_secret_is_a_warning_if_the_rest_is_good) {
  subject.weak_secret = true;
  BOOST_CHECK((not_good(Receiver{}) == Found{{"firma_incorrecta", Result::warning}}));
  BOOST_TEST(item(Receiver{}, Check::wrong_signature).remedy.find("openssl rand -base64 24") !=
             std::string::npos);
  Receiver open;
  open.status[Kind::wrong_signature] = 200;
  BOOST_CHECK(item(open, Check::wrong_signature).result == Result::bad);
}

BOOST_AUTO_TEST_CASE(a_third_of_the_time_out_is_slow) {
  BOOST_CHECK(item(Receiver{.took = 5000ms}, Check::time).result == Result::good);
  BOOST_CHECK(item(Receiver{.took = 5001ms}, Check::time).result == Result::warning);
  Receiver late;
  late.transport[Kind::genuine] = TransportResult::timeout;
  BOOST_CHECK(item(late, Check::time).result == Result::bad);
  BOOST_CHECK(item(late, Check::genuine).result == Result::bad);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_kept_connection_tells_of_the_receiver_once_it_was_just_used) {
  const auto result_of = [&](Kind kind, Observation::Kept kept) {
    Receiver receiver;
    receiver.kept = {{kind, kept}};
    return item(receiver, Check::kept_connection).result;
  };
  BOOST_CHECK(result_of(Kind::wrong_signature, Observation::Kept::used) == Result::good);
  BOOST_CHECK(result_of(Kind::wrong_signature, Observation::Kept::closed) == Result::warning);
  BOOST_CHECK(result_of(Kind::repeated, Observation::Kept::answered_twice) == Result::warning);
  BOOST_CHECK(result_of(Kind::genuine, Observation::Kept::closed) == Result::not_done);
  BOOST_CHECK(result_of(Kind::genuine, Observation::Kept::unknown) == Result::not_done);
  Receiver polite{.kept = {{Kind::wrong_signature, Observation::Kept::closed}}, .says_closed = true};
  BOOST_CHECK(item(polite, Check::kept_connection).result == Result::good);
}

BOOST_AUTO_TEST_CASE(a_connection_that_may_be_over_by_our_own_limit_tells_nothing) {
  for (const auto& [took, result] : std::map<platform::Milliseconds, Result>{
           {platform::Milliseconds(11s), Result::warning}, {platform::Milliseconds(13s), Result::good}}) {
    // Five requests of `took` each use the kept connection. The last one ends after 55 s or 65 s, and finds
    // the connection closed. Our side closes a connection after 60 s (connection_life of `subject`), so after
    // 55 s the receiver must have closed it, but after 65 s it may have been our side.
    Receiver receiver;
    receiver.took = took;
    receiver.kept = {{Kind::wrong_signature, Observation::Kept::used},
                     {Kind::no_signature, Observation::Kept::used},
                     {Kind::old_timestamp, Observation::Kept::used},
                     {Kind::repeated, Observation::Kept::closed}};
    BOOST_TEST((item(receiver, Check::kept_connection).result == result));
  }
}

BOOST_AUTO_TEST_CASE(a_stopped_diagnosis_keeps_its_findings_and_gives_the_reason) {
  const auto diagnosis = diagnose(Receiver{}, 3);
  const auto findings = diagnosis.findings(DiagnosisStop::paused);
  BOOST_TEST((findings.at(0).result == Result::good));
  const auto& last = findings.back();
  BOOST_TEST((last.result == Result::not_done));
  BOOST_TEST(last.detail == "El operador ha detenido los envíos");
  BOOST_TEST(!last.remedy.empty());
}

BOOST_AUTO_TEST_CASE(a_diagnosis_without_findings_lists_every_check_with_a_reason) {
  std::set<std::string> reasons;
  for (const auto why : {DiagnosisStop::interrupted, DiagnosisStop::paused, DiagnosisStop::disabled,
                         DiagnosisStop::url_changed, DiagnosisStop::unreadable_secret, DiagnosisStop::outage,
                         DiagnosisStop::sandbox, DiagnosisStop::not_begun}) {
    const auto findings = stopped_findings(why);
    BOOST_TEST(findings.size() == check_names.size());
    for (const auto& item : findings) BOOST_TEST((item.result == Result::not_done && !item.detail.empty()));
    reasons.insert(findings.front().detail);
  }
  BOOST_TEST(reasons.size() == 8U);
}

BOOST_AUTO_TEST_CASE(the_findings_are_an_array_of_their_four_members) {
  const auto parsed = json::parse(to_json(diagnose(Receiver{}).findings()));
  BOOST_TEST_REQUIRE(parsed.array()->size() == check_names.size());
  for (std::size_t i = 0; i < check_names.size(); ++i) {
    const auto& members = *parsed.array()->at(i).object();
    BOOST_TEST_REQUIRE(members.size() == 4U);
    BOOST_TEST(*members.at(0).second.string() == check_names.at(i));
    BOOST_TEST((members.at(0).first == "prueba" && members.at(1).first == "resultado"));
    BOOST_TEST((members.at(2).first == "detalle" && members.at(3).first == "remedio"));
  }
}

BOOST_AUTO_TEST_SUITE_END()
