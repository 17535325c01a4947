#include "lib/delivery/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

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
      return "El webhook o su entidad se desactivó o se eliminó durante el diagnóstico";
    case DiagnosisStop::url_changed:
      return "La URL del webhook cambió durante el diagnóstico";
    case DiagnosisStop::unreadable_secret:
      return "El servicio no puede leer ahora el secreto del webhook: avise al operador";
    case DiagnosisStop::outage:
      return "El servicio no tiene conexión a Internet en este momento";
    case DiagnosisStop::not_begun:
      return "El servicio no pudo empezarlo a tiempo: estaba detenido u ocupado";
  }
  return {};
}

constexpr std::string_view ask_again = "Pida otro diagnóstico más tarde";

}  // namespace

Diagnosis::Diagnosis(Subject subject, const platform::DeliverySettings& settings, platform::UtcTime now)
    : subject_(std::move(subject)), settings_(settings), now_(now) {
  const auto authority = webhook::host_and_port(subject_.url);
  host_ = webhook::host_name(authority);
}

std::vector<Probe> Diagnosis::next() const {
  const auto ask = [](ProbeKind kind) { return std::vector<Probe>{{.kind = kind}}; };
  const auto& looked_up = answer(ProbeKind::lookup);
  if (!looked_up) return ask(ProbeKind::lookup);
  if (handshakes_.empty()) {
    std::vector<Probe> probes;
    // Addresses that may be dialled come first, because the number of handshakes is limited.
    auto addresses = looked_up->probe.addresses;
    std::stable_partition(addresses.begin(), addresses.end(),
                          [this](const auto& one) { return is_allowed(one); });
    for (std::size_t i = 0; i < std::min<std::size_t>(addresses.size(), most_handshakes); ++i)
      probes.push_back({.kind = ProbeKind::handshake, .address = addresses[i]});
    return probes;
  }
  if (!connected()) return {};
  if (!answer(ProbeKind::genuine)) return ask(ProbeKind::genuine);
  if (!answer(ProbeKind::genuine)->accepted() || asked_to_wait()) return {};
  if (subject_.has_secret) {
    for (const auto kind : {ProbeKind::wrong_signature, ProbeKind::no_signature, ProbeKind::old_timestamp})
      if (!answer(kind)) return ask(kind);
  }
  return answer(ProbeKind::repeated) ? std::vector<Probe>{} : ask(ProbeKind::repeated);
}

void Diagnosis::note(const Attempt& attempt) {
  Answer answer{attempt.transport, attempt.status, attempt.duration, *attempt.probe};
  // A closed connection means nothing if the last answer announced it, or our own limit may have ended it.
  const bool expected = left_open_ && attempt.ended < opened_ + subject_.connection_life;
  if (answer.probe.kept == Probe::Kept::closed && !expected) answer.probe.kept = Probe::Kept::unknown;
  if (answer.probe.kept != Probe::Kept::used) opened_ = attempt.ended - attempt.duration;
  left_open_ = answer.probe.left_open;
  if (answer.probe.kind == ProbeKind::handshake) {
    handshakes_.push_back(std::move(answer));
  } else {
    answers_.at(static_cast<std::size_t>(answer.probe.kind)) = std::move(answer);
  }
}

/// By the rule of asks_to_wait() (classify.cpp).
bool Diagnosis::asked_to_wait() const {
  return std::ranges::any_of(answers_, [](const auto& answer) {
    return answer && answer->transport == answered && (answer->status == 429 || answer->status == 503);
  });
}

bool Diagnosis::connected() const {
  return std::ranges::any_of(handshakes_, [](const Answer& one) { return one.probe.connected; });
}

/// The dialler judges again when it dials, and may refuse an address that passes here.
bool Diagnosis::is_allowed(const platform::IpAddress& address) const {
  return webhook::may_connect(address, host_, settings_) &&
         std::ranges::none_of(handshakes_, [&](const Answer& one) {
           return one.transport == address_refused && one.probe.address == address;
         });
}

DiagnosisFindings Diagnosis::findings() const {
  return {check_name(),
          check_addresses(),
          check_connection(),
          check_tls(),
          check_certificate(),
          check_certificate_name(),
          check_genuine(),
          check_time(),
          check_kept_connection(),
          check_refusal(Check::wrong_signature, ProbeKind::wrong_signature),
          check_refusal(Check::no_signature, ProbeKind::no_signature),
          check_refusal(Check::old_timestamp, ProbeKind::old_timestamp),
          check_repeated()};
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
