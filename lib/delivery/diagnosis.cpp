#include "lib/delivery/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/delivery/failure_text.hpp"
#include "lib/json/json.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/target_url.hpp"

namespace delivery {

namespace {

using enum TransportResult;

std::string_view reason(DiagnosisStop why) {
  switch (why) {
    case DiagnosisStop::interrupted:
      return "El servicio no pudo terminar el diagnóstico";
    case DiagnosisStop::paused:
      return "El operador ha detenido los envíos";
    case DiagnosisStop::disabled:
      return "El webhook o su entidad se desactivó o se eliminó después de pedir el diagnóstico";
    case DiagnosisStop::url_changed:
      return "La URL del webhook cambió durante el diagnóstico";
    case DiagnosisStop::unreadable_secret:
      return "El servicio no puede leer ahora el secreto del webhook: avise al operador";
    case DiagnosisStop::outage:
      return "El servicio no tiene conexión a Internet o no puede resolver nombres en este momento";
    case DiagnosisStop::sandbox:
      return sandbox_text;
    case DiagnosisStop::not_begun:
      return "El servicio no pudo hacer la prueba a tiempo: estaba detenido u ocupado";
  }
  return {};
}

constexpr std::string_view ask_again = "Pida otro diagnóstico más tarde";

}  // namespace

Diagnosis::Diagnosis(Subject subject, const config::DeliverySettings& settings, platform::UtcTime now)
    : subject_(std::move(subject)), settings_(settings), now_(now) {
  const auto authority = webhook::host_and_port(subject_.url);
  host_ = webhook::host_name(authority);
}

std::vector<TestRequest> Diagnosis::next() const {
  const auto ask = [](TestRequestKind kind) { return std::vector<TestRequest>{{.kind = kind}}; };
  const auto& looked_up = answer(TestRequestKind::lookup);
  if (!looked_up) return ask(TestRequestKind::lookup);
  if (handshakes_.empty()) {
    std::vector<TestRequest> test_requests;
    // Addresses that may be dialled come first, because the number of handshakes is limited.
    auto addresses = looked_up->seen.addresses;
    std::stable_partition(addresses.begin(), addresses.end(),
                          [this](const auto& one) { return is_allowed(one); });
    for (std::size_t i = 0; i < std::min<std::size_t>(addresses.size(), most_handshakes); ++i)
      test_requests.push_back({.kind = TestRequestKind::handshake, .address = addresses[i]});
    return test_requests;
  }
  if (!connected()) return {};
  if (!answer(TestRequestKind::genuine)) return ask(TestRequestKind::genuine);
  if (may_verify_rewritten()) {
    const auto& rewritten = answer(TestRequestKind::rewritten);
    if (!rewritten) return ask(TestRequestKind::rewritten);
    // Refused again, it shows that the form decides, and not a server that has another secret.
    if (rewritten->accepted() && !answer(TestRequestKind::repeated)) return ask(TestRequestKind::repeated);
  }
  if (!answer(TestRequestKind::genuine)->accepted() || asked_to_wait()) return {};
  if (subject_.has_secret) {
    for (const auto kind :
         {TestRequestKind::wrong_signature, TestRequestKind::no_signature, TestRequestKind::old_timestamp})
      if (!answer(kind)) return ask(kind);
  }
  if (!answer(TestRequestKind::repeated)) return ask(TestRequestKind::repeated);
  for (const auto kind : rare_forms) {
    if (kind == TestRequestKind::second_signature && !subject_.has_secret) continue;
    if (!answer(kind)) return spent_ < longest_diagnosis ? ask(kind) : std::vector<TestRequest>{};
  }
  return {};
}

void Diagnosis::note(const TestRequest& test_request, const Attempt& attempt) {
  Answer answer{attempt.transport, attempt.status, attempt.duration, test_request, *attempt.observed};
  // `expected`: the previous answer left the connection open, and the connection is younger than
  // connection_life, after which this service closes it. If not `expected`, a closed connection says nothing
  // about the receiver.
  const bool expected = left_open_ && attempt.ended < opened_ + subject_.connection_life;
  auto& kept = answer.seen.kept;
  if (kept == Observation::Kept::closed && !expected) kept = Observation::Kept::unknown;
  if (kept != Observation::Kept::used) opened_ = attempt.ended - attempt.duration;
  left_open_ = answer.seen.left_open;
  if (test_request.kind == TestRequestKind::handshake) {
    handshakes_.push_back(std::move(answer));
  } else {
    spent_ += answer.took;
    answers_.at(static_cast<std::size_t>(test_request.kind)) = std::move(answer);
  }
}

bool Diagnosis::asked_to_wait() const {
  return std::ranges::any_of(answers_, [](const auto& answer) { return answer && answer->asks_to_wait(); });
}

/// Whether the receiver may have refused the genuine request because it verifies what it parses and writes
/// again. A receiver that throws on a wrong signature answers 500.
bool Diagnosis::may_verify_rewritten() const {
  const auto& genuine = answer(TestRequestKind::genuine);
  return subject_.has_secret && genuine && genuine->transport == answered &&
         (is_refusal_of_signature(genuine->status) || genuine->status == 500);
}

bool Diagnosis::connected() const {
  return std::ranges::any_of(handshakes_, [](const Answer& one) { return one.seen.connected; });
}

/// Whether the service may dial the address. The network's thread judges each address itself before it dials;
/// an address that it refused in a handshake is not allowed either.
bool Diagnosis::is_allowed(const platform::IpAddress& address) const {
  return webhook::may_connect(address, host_, settings_) &&
         std::ranges::none_of(handshakes_, [&](const Answer& one) {
           return one.transport == address_refused && one.test_request.address == address;
         });
}

DiagnosisFindings Diagnosis::findings() const {
  DiagnosisFindings result{check_name(),
                           check_addresses(),
                           check_connection(),
                           check_tls(),
                           check_certificate(),
                           check_certificate_name(),
                           check_genuine(),
                           check_time(),
                           check_kept_connection(),
                           check_refusal(Check::wrong_signature, TestRequestKind::wrong_signature),
                           check_refusal(Check::no_signature, TestRequestKind::no_signature),
                           check_refusal(Check::old_timestamp, TestRequestKind::old_timestamp),
                           check_repeated()};
  for (const auto kind : rare_forms) result.push_back(check_rare_form(kind));
  return result;
}

DiagnosisFindings Diagnosis::findings(DiagnosisStop why) const {
  auto result = findings();
  for (auto& item : result) {
    if (item.result != CheckResult::not_done) continue;
    item.detail = reason(why);
    item.remedy = ask_again;
  }
  return result;
}

DiagnosisFindings stopped_findings(DiagnosisStop why) {
  DiagnosisFindings result;
  for (std::size_t i = 0; i < check_names.size(); ++i)
    result.push_back(
        {static_cast<Check>(i), CheckResult::not_done, std::string(reason(why)), std::string(ask_again)});
  return result;
}

std::string to_json(const DiagnosisFindings& findings) {
  json::Array items;
  for (const auto& item : findings)
    items.emplace_back(json::Object{{"prueba", name(item.check)},
                                    {"resultado", name(item.result)},
                                    {"detalle", item.detail},
                                    {"remedio", item.remedy}});
  return json::dump(items);
}

}  // namespace delivery
