// Entities test their receivers with examples/vectores/vectores.json: a receiver that compares with this
// service's signatures must accept and refuse what the file says.
#include <boost/test/unit_test.hpp>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "lib/json/json.hpp"
#include "lib/platform/file.hpp"
#include "lib/webhook/signature.hpp"

namespace {

using json::Value;

struct Receiver {
  std::int64_t now;
  std::int64_t tolerance;
};

std::string text(const Value& value, std::string_view name) {
  const auto* found = value.find(name);
  return found && found->string() ? *found->string() : "";
}

std::optional<std::int64_t> seconds(const std::string& text) {
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return result;
}

bool has_word(const std::string& words, const std::string& wanted) {
  std::istringstream in(words);
  for (std::string word; in >> word;)
    if (word == wanted) return true;
  return false;
}

/// Whether the time is within the tolerance and one of the secrets made the signature in `header`.
bool takes(const Receiver& receiver, const Value& vector, const std::string& header) {
  const auto& headers = *vector.find("cabeceras");
  const auto id = text(headers, "webhook-id");
  const auto time = seconds(text(headers, "webhook-timestamp"));
  if (id.empty() || !time || std::abs(receiver.now - *time) > receiver.tolerance) return false;
  const auto body = text(vector, "cuerpo");
  const auto is_signed_by = [&](const std::string& secret) {
    if (header == "webhook-signature")
      return has_word(text(headers, header), webhook::standard_webhooks_signature(secret, id, *time, body));
    const auto expected = webhook::webhook_signature(secret, body);
    return text(headers, header) == expected || text(headers, header + "-Nueva") == expected;
  };
  for (const auto& secret : *vector.find("secretos")->array())
    if (is_signed_by(*secret.string())) return true;
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signature_vectors)

BOOST_AUTO_TEST_CASE(a_receiver_that_compares_with_these_signatures_takes_and_refuses_what_the_vectors_say) {
  const auto file = json::parse(platform::read_file(SOURCE_DIR "/examples/vectores/vectores.json"));
  const Receiver receiver{*file.find("ahora")->integer(), *file.find("toleranciaSegundos")->integer()};
  const auto& vectors = *file.find("vectores")->array();
  BOOST_TEST(vectors.size() > 20);
  for (const auto& vector : vectors)
    for (const std::string header : {"webhook-signature", "X-Webhook-Signature"}) {
      const bool expected = text(*vector.find("esperado"), header) == "aceptar";
      BOOST_TEST(takes(receiver, vector, header) == expected, text(vector, "nombre") << ", by " << header);
    }
}

BOOST_AUTO_TEST_SUITE_END()
