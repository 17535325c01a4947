#include "dispatcher/diagnoses/test_requests.hpp"

#include <algorithm>
#include <chrono>

#include "lib/crypto/crypto.hpp"
#include "lib/text/text.hpp"
#include "lib/webhook/notification_body.hpp"
#include "lib/webhook/signature.hpp"

namespace dispatcher {

namespace {

using enum delivery::TestRequestKind;
using delivery::TestRequestKind;

webhook::DiagnosisBody body_kind(TestRequestKind kind) {
  switch (kind) {
    case wrong_signature:
    case no_signature:
    case old_timestamp:
      return webhook::DiagnosisBody::refused;
    case large_body:
      return webhook::DiagnosisBody::large;
    default:
      return webhook::DiagnosisBody::accepted;
  }
}

std::string signature_bytes(const std::string& random, std::size_t i) {
  return random.substr(i * wrong_signature_bytes, wrong_signature_bytes);
}

/// Adds headers that look like genuine signatures.
void add_wrong_signatures(const Request& request, const std::string& random,
                          std::vector<std::string>& headers) {
  auto standard = "v1," + crypto::to_base64(signature_bytes(random, 1));
  if (request.previous_secret) standard += " v1," + crypto::to_base64(signature_bytes(random, 2));
  headers.push_back("X-Webhook-Signature: sha256=" + crypto::to_hex(signature_bytes(random, 0)));
  headers.push_back("webhook-signature: " + standard);
  if (request.previous_secret)
    headers.push_back("X-Webhook-Signature-Nueva: sha256=" + crypto::to_hex(signature_bytes(random, 3)));
}

/// Changes a header of a genuine request as the kind of the test request says.
void put_in_rare_form(TestRequestKind kind, const std::string& random, std::string& header) {
  const auto colon = header.find(':');
  const auto name = header.substr(0, colon);
  if (kind == charset && name == "Content-Type") header += "; charset=utf-8";
  if (kind == header_case) std::ranges::transform(name, header.begin(), text::upper);
  if (kind == second_signature && name == "webhook-signature")
    header.insert(colon + 2, "v1," + crypto::to_base64(signature_bytes(random, 0)) + " ");
  if (kind == unknown_event && name == "X-Webhook-Event")
    header.replace(colon + 2, std::string::npos, webhook::unknown_event);
}

}  // namespace

bool is_post(TestRequestKind kind) { return kind != lookup && kind != handshake; }

std::string message_id(std::uint64_t messages, TestRequestKind kind) {
  // The repeated request has the id of the genuine one.
  const auto number = static_cast<unsigned>(kind == repeated ? genuine : kind);
  return "msg_diagnostico_" + std::to_string(messages) + "_" + std::to_string(number);
}

std::string body_of(TestRequestKind kind, const store::DiagnosisTarget& target, platform::UtcTime occurred) {
  const auto check = name(delivery::check_of(kind));
  if (kind == rewritten)
    return webhook::rewritten_diagnosis_body(*target.event, occurred, target.entity, check);
  if (kind == old_timestamp) occurred -= delivery::old_by;
  const auto data = webhook::diagnosis_data(target.entity, target.entity_name, check, body_kind(kind));
  const auto event = kind == unknown_event ? webhook::unknown_event : name(*target.event);
  return webhook::notification_body(event, occurred, data);
}

std::vector<std::string> headers_of(const Request& request, TestRequestKind kind,
                                    const std::string& message_id, platform::UtcTime attempted,
                                    const std::string& random) {
  if (kind == old_timestamp) attempted -= delivery::old_by;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(attempted).time_since_epoch().count();
  const auto event = request.delivery.event;
  if (kind == no_signature || kind == wrong_signature) {
    auto headers = webhook::notification_headers(event, message_id, seconds, request.body, {});
    if (kind == wrong_signature) add_wrong_signatures(request, random, headers);
    return headers;
  }
  auto headers = webhook::notification_headers(event, message_id, seconds, request.body, request.secret,
                                               request.previous_secret);
  for (auto& header : headers) put_in_rare_form(kind, random, header);
  return headers;
}

}  // namespace dispatcher
