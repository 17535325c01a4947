// The diagnosis of a receiver: what is asked of it, in which order, and what its answers mean
// (docs/delivery.md#diagnosis). Pure: no I/O and no clock of its own.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/delivery/attempt.hpp"
#include "lib/platform/config.hpp"
#include "lib/platform/ip.hpp"

namespace delivery {

/// What is asked, in this order; each once. The first two send no request.
enum class ProbeKind {
  lookup,
  handshake,  // TCP and TLS, of each address of the name
  genuine,
  wrong_signature,
  no_signature,
  old_timestamp,  // signed an hour ago
  repeated,       // the genuine one, byte for byte, with its webhook-id
};
inline constexpr unsigned most_handshakes = 4;  // of the addresses of a name
inline constexpr std::chrono::hours old_by{1};

/// What was seen of a receiver's TLS.
struct TlsFacts {
  std::string version;        // "TLS 1.3"
  unsigned chain = 0;         // certificates sent
  platform::UtcTime until{};  // the first of them is good
};

/// A question of a diagnosis, and what the network found out besides how the attempt ended.
struct Probe {
  ProbeKind kind{};
  std::uint64_t diagnosis = 0;  // whose, by its lease
  std::string message_id{};     // webhook-id
  std::string signature{};      // of wrong_signature: random bytes

  std::vector<platform::IpAddress> addresses{};  // of lookup
  bool literal = false;                          // of lookup: there was nothing to look up
  std::optional<platform::IpAddress> address{};  // of handshake: where to
  bool connected = false;                        // of handshake: TCP and TLS
  std::optional<TlsFacts> tls{};                 // of handshake
  /// How the connection that was kept after the request before this one was found.
  enum class Kept { unknown, used, closed, answered_twice };
  Kept kept = Kept::unknown;
  bool expects_kept = false;  // if the request before left one open, no other has it
  bool says_closed = false;   // the answer announced that its connection ends
  bool left_open = false;     // its connection, after the answer
};

/// The names of GET /webhooks/{id}/diagnostico, in its order.
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
};
inline constexpr std::array<std::string_view, 13> check_names{"nombre",
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
                                                              "repetida"};
constexpr std::string_view name(Check check) { return check_names[static_cast<std::size_t>(check)]; }

enum class CheckResult { good, bad, warning, not_done };
inline constexpr std::array<std::string_view, 4> check_result_names{"bien", "mal", "aviso", "no_hecha"};
constexpr std::string_view name(CheckResult result) {
  return check_result_names[static_cast<std::size_t>(result)];
}

struct CheckedItem {
  Check check{};
  CheckResult result = CheckResult::not_done;
  std::string detail{};  // in Spanish, for the entity
  std::string remedy{};  // empty: nothing is to be done
};
/// All checks, in order.
using DiagnosisFindings = std::vector<CheckedItem>;

/// Why a diagnosis ends before it is through. None is the receiver's doing.
enum class DiagnosisStop {
  interrupted,  // the service was stopped, or died
  paused,
  disabled,  // by the operator
  url_changed,
  unreadable_secret,
  outage,     // of our own
  not_begun,  // for too long there was no turn for it, or for a request
};

class Diagnosis {
 public:
  struct Subject {
    std::string url;
    bool has_secret = false;
    std::vector<platform::IpNetwork> hidden{};  // addresses of these are not shown
    platform::Milliseconds connection_life{};   // then a kept connection is ended by this side
  };
  /// `settings` outlives it; `now` is for the days that a certificate has left.
  Diagnosis(Subject subject, const platform::DeliverySettings& settings, platform::UtcTime now);

  /// What is to be asked next, all at once; empty: everything was. The same again until it is noted.
  std::vector<Probe> next() const;
  /// How a question of next() ended. Not of one that could not be asked.
  void note(const Attempt& attempt);
  const Subject& subject() const { return subject_; }

  DiagnosisFindings findings() const;
  /// The same, where what was not done says why.
  DiagnosisFindings findings(DiagnosisStop why) const;

 private:
  struct Answer {
    TransportResult transport{};
    int status = 0;
    platform::Milliseconds took{};
    Probe probe;
    bool accepted() const { return transport == TransportResult::answered && status >= 200 && status < 300; }
  };
  const std::optional<Answer>& answer(ProbeKind kind) const {
    return answers_.at(static_cast<std::size_t>(kind));
  }
  bool asked_to_wait() const;
  bool connected() const;
  /// The answer of the handshakes that had it, the first of them.
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
  CheckedItem check_refusal(Check check, ProbeKind kind) const;
  CheckedItem check_repeated() const;

  Subject subject_;
  const platform::DeliverySettings& settings_;
  platform::UtcTime now_;
  std::string host_;                  // of the URL, without its port
  bool left_open_ = false;            // a connection, by the last request
  platform::MonotonicTime opened_{};  // the last new connection, at the earliest
  std::vector<Answer> handshakes_;
  std::array<std::optional<Answer>, 7> answers_;  // by ProbeKind, but of handshakes
};

/// A diagnosis of which nothing is known has every check, too.
DiagnosisFindings stopped_findings(DiagnosisStop why);

/// `[{"prueba": …, "resultado": …, "detalle": …, "remedio": …}, …]`
std::string to_json(const DiagnosisFindings& findings);

}  // namespace delivery
