#include "lib/webhook/sealed_data.hpp"

#include "lib/crypto/crypto.hpp"
#include "lib/json/json.hpp"

namespace webhook {

namespace {

std::string owner(EntityId entity, Event event) {
  return "test:" + to_string(entity) + ":" + std::string(name(event));
}

std::optional<SealedSecret> read(std::string_view stored) {
  try {
    const auto value = json::parse(stored);
    const auto* key = value.find("clave");
    const auto* sealed = value.find("sellado");
    if (key == nullptr || !key->string() || sealed == nullptr || !sealed->string()) return std::nullopt;
    auto bytes = crypto::from_base64(*sealed->string());
    if (!bytes) return std::nullopt;
    return SealedSecret{*key->string(), std::move(*bytes)};
  } catch (const json::ParseError&) {
    return std::nullopt;
  }
}

}  // namespace

std::string seal_test_data(const KeyRing& keys, EntityId entity, Event event, std::string_view data_json) {
  const auto [key, bytes] = keys.seal_for(owner(entity, event), data_json);
  return json::dump(json::Object{{"clave", key}, {"sellado", crypto::to_base64(bytes)}});
}

std::optional<std::string> open_test_data(const KeyRing& keys, EntityId entity, Event event,
                                          std::string_view stored) {
  const auto sealed = read(stored);
  return sealed ? keys.open_for(owner(entity, event), *sealed) : std::nullopt;
}

}  // namespace webhook
