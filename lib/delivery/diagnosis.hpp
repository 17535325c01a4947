// The diagnosis of a receiver: which test requests it gets, in which order, and what its answers mean
// (docs/delivery.md#diagnosis). Pure: no I/O and no clock of its own.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/config.hpp"
#include "lib/delivery/attempt.hpp"
#include "lib/delivery/observation.hpp"
#include "lib/platform/ip.hpp"

namespace delivery {

/// The test requests of a diagnosis, in this order. The first two send no HTTP request.
enum class TestRequestKind {
  lookup,
  handshake,  // TCP and TLS, one for each address of the name, up to most_handshakes
  genuine,
  rewritten,  // only if the receiver refuses the genuine one: as a JSON library writes it
  wrong_signature,
  no_signature,
  old_timestamp,  // signed with a timestamp of an hour ago
  repeated,       // the genuine request again: the same body and webhook-id
  // These are rare_forms.
  large_body,
  charset,           // Content-Type: application/json; charset=utf-8
  header_case,       // the names of the headers in capitals
  second_signature,  // webhook-signature with a wrong signature before the genuine one
  unknown_event,
};
inline constexpr std::size_t test_request_kinds = 13;
/// Genuine requests of forms that a receiver meets late; it must accept them too.
inline constexpr std::array<TestRequestKind, 5> rare_forms{
    TestRequestKind::large_body, TestRequestKind::charset, TestRequestKind::header_case,
    TestRequestKind::second_signature, TestRequestKind::unknown_event};
/// Once the test requests have taken this long, those that remain are not made.
inline constexpr std::chrono::minutes longest_diagnosis{1};
inline constexpr unsigned most_handshakes = 4;
/// Whether a receiver answers so to a signature that it does not accept.
constexpr bool is_refusal_of_signature(int status) { return status == 400 || status == 401 || status == 403; }
inline constexpr std::chrono::hours old_by{1};

struct TestRequest {
  TestRequestKind kind{};
  std::optional<platform::IpAddress> address{};  // of handshake: the address to dial
};

/// The checks, in the order in which GET /webhooks/{id}/diagnostico lists them.
enum class Check {
  name,
  addresses,
  connection,
  tls,
  certificate,
  certificate_name,
  genuine,
  time,
  kept_connection,
  wrong_signature,
  no_signature,
  old_timestamp,
  repeated,
  large_body,
  charset,
  header_case,
  second_signature,
  unknown_event,
};
inline constexpr std::array<std::string_view, 18> check_names{"nombre",
                                                              "direcciones",
                                                              "conexion",
                                                              "tls",
                                                              "certificado",
                                                              "nombre_certificado",
                                                              "autentica",
                                                              "tiempo",
                                                              "conexion_mantenida",
                                                              "firma_incorrecta",
                                                              "sin_firma",
                                                              "fecha_antigua",
                                                              "repetida",
                                                              "cuerpo_grande",
                                                              "tipo_contenido",
                                                              "cabeceras_mayusculas",
                                                              "segunda_firma",
                                                              "evento_desconocido"};
constexpr std::string_view name(Check check) { return check_names[static_cast<std::size_t>(check)]; }

/// The check that the body of a test request names.
constexpr Check check_of(TestRequestKind kind) {
  using enum Check;
  constexpr std::array<Check, test_request_kinds> checks{
      Check::name,  connection,       Check::genuine, Check::genuine, wrong_signature,
      no_signature, old_timestamp,    Check::genuine, large_body,     charset,
      header_case,  second_signature, unknown_event};
  return checks.at(static_cast<std::size_t>(kind));
}

enum class CheckResult { good, bad, warning, not_done };
inline constexpr std::array<std::string_view, 4> check_result_names{"bien", "mal", "aviso", "no_hecha"};
constexpr std::string_view name(CheckResult result) {
  return check_result_names[static_cast<std::size_t>(result)];
}

struct CheckedItem {
  Check check{};
  CheckResult result = CheckResult::not_done;
  std::string detail{};  // in Spanish, for the entity
  std::string remedy{};  // empty: nothing to do
};
/// All checks, in the order of Check.
using DiagnosisFindings = std::vector<CheckedItem>;

/// Why a diagnosis ends before its last test request. None of these is the receiver's fault.
enum class DiagnosisStop {
  interrupted,  // the service stopped or crashed, this host had a fault, or only a newer release knows the
                // webhook's events
  paused,
  disabled,  // the operator disabled the webhook or its entity, or the webhook was deleted
  url_changed,
  unreadable_secret,
  outage,     // our own
  sandbox,    // delivery.sandbox does not list the host
  not_begun,  // the diagnosis, or one of its requests, could not start in time
};

class Diagnosis {
 public:
  struct Subject {
    std::string url;
    bool has_secret = false;
    bool weak_secret = false;
    std::vector<platform::IpNetwork> hidden{};  // addresses in these networks are not shown
    platform::Milliseconds connection_life{};   // our side ends a kept connection after this time
    bool unverifiable_secret = false;           // !webhook::is_verifiable
  };
  /// `settings` must outlive this object. `now`: for the days until a certificate expires.
  Diagnosis(Subject subject, const config::DeliverySettings& settings, platform::UtcTime now);

  /// The next test requests, to be made at the same time; empty when the diagnosis has ended. Call it only
  /// when no test request is in flight: until note() takes an outcome, it returns the same requests.
  std::vector<TestRequest> next() const;
  /// Takes the outcome of one of the test requests that next() returned. Call it only for a test request that
  /// was made. `attempt.observed` must be set.
  void note(const TestRequest& test_request, const Attempt& attempt);
  const Subject& subject() const { return subject_; }

  DiagnosisFindings findings() const;
  /// As findings(), with `why` as the reason of each check that was not done.
  DiagnosisFindings findings(DiagnosisStop why) const;

 private:
  struct Answer {
    TransportResult transport{};
    int status = 0;
    platform::Milliseconds took{};
    TestRequest test_request;
    Observation seen;
    bool accepted() const { return transport == TransportResult::answered && status >= 200 && status < 300; }
    bool asks_to_wait() const { return delivery::asks_to_wait(transport, status); }
  };
  const std::optional<Answer>& answer(TestRequestKind kind) const {
    return answers_.at(static_cast<std::size_t>(kind));
  }
  bool asked_to_wait() const;
  bool may_verify_rewritten() const;
  bool connected() const;
  /// The first handshake that failed with one of `results`; nullptr if no handshake did.
  const Answer* handshake_with(std::initializer_list<TransportResult> results) const;
  bool is_allowed(const platform::IpAddress& address) const;
  std::string shown(const std::vector<platform::IpAddress>& addresses) const;

  CheckedItem check_name() const;
  CheckedItem check_addresses() const;
  CheckedItem check_connection() const;
  CheckedItem check_tls() const;
  CheckedItem check_certificate() const;
  CheckedItem check_certificate_name() const;
  CheckedItem check_genuine() const;
  CheckedItem check_time() const;
  CheckedItem check_kept_connection() const;
  CheckedItem check_refusal(Check check, TestRequestKind kind) const;
  CheckedItem check_repeated() const;
  CheckedItem check_rare_form(TestRequestKind kind) const;

  Subject subject_;
  const config::DeliverySettings& settings_;
  platform::UtcTime now_;
  std::string host_;                  // the URL's, without port
  platform::Milliseconds spent_{};    // by all test requests
  bool left_open_ = false;            // the last request left a connection open
  platform::MonotonicTime opened_{};  // the start of the attempt that made the newest connection
  std::vector<Answer> handshakes_;
  std::array<std::optional<Answer>, test_request_kinds>
      answers_;  // indexed by TestRequestKind; handshakes are kept apart
};

/// The findings of a diagnosis without results: no check was done, and `why` is the reason of each.
DiagnosisFindings stopped_findings(DiagnosisStop why);

/// Returns `[{"prueba": …, "resultado": …, "detalle": …, "remedio": …}, …]`.
std::string to_json(const DiagnosisFindings& findings);

}  // namespace delivery
