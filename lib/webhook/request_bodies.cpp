#include "lib/webhook/request_bodies.hpp"

#include <algorithm>

#include "lib/text/text.hpp"
#include "lib/text/utf8.hpp"
#include "lib/webhook/target_url.hpp"

namespace webhook {

namespace {

constexpr std::size_t max_echo = 500;  // bytes of wrong events that a message shows

/// The member's text; nullptr when it is absent or null.
const std::string* find_text(const json::Value& body, const std::string& field) {
  const json::Value* value = body.find(field);
  if (value == nullptr || value->is_null()) return nullptr;
  if (value->string() == nullptr) throw InvalidRequest(field + ": debe ser una cadena");
  return value->string();
}

std::string checked_url(const json::Value& body, const std::vector<config::HostOverride>& overrides) {
  const std::string* url = find_text(body, "url");
  auto verdict = judge_target_url(url == nullptr ? std::string_view() : *url, overrides);
  if (const auto* rejection = std::get_if<UrlRejection>(&verdict)) throw InvalidRequest(rejection->message);
  return std::get<TargetUrl>(std::move(verdict)).text;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' '; }

/// The element as a message shows it: a name as it was sent, anything else (a number, an empty string,
/// control characters …) as JSON text.
std::string shown(const json::Value& element) {
  const std::string* text = element.string();
  const bool is_name = text != nullptr && !text->empty() && std::ranges::none_of(*text, is_control);
  return is_name ? *text : json::dump(element);
}

/// The events that the elements name. Throws if an element names no event; the message shows each wrong
/// element once, and is cut.
EventSet named_events(const json::Array& elements) {
  EventSet events;
  std::vector<std::string> offending;
  std::string joined;
  for (const auto& element : elements) {
    if (joined.size() > max_echo) break;
    const std::string* text = element.string();
    if (const auto event = text == nullptr ? std::nullopt : find_event(*text)) {
      events.insert(*event);
      continue;
    }
    std::string name = shown(element);
    if (std::ranges::find(offending, name) != offending.end()) continue;
    joined += (offending.empty() ? "" : ", ") + name;
    offending.push_back(std::move(name));
  }
  if (offending.empty()) return events;
  const bool whole = joined.size() <= max_echo;
  throw InvalidRequest("Eventos no válidos: " + std::string(text::cut(joined, max_echo)) +
                       (whole ? "" : "…"));
}

EventSet checked_events(const json::Value& body) {
  const json::Value* value = body.find("eventos");
  if (value == nullptr || value->is_null()) throw InvalidRequest("eventos: indique al menos un evento");
  const json::Array* elements = value->array();
  if (elements == nullptr) throw InvalidRequest("eventos: debe ser una lista de nombres de evento");
  if (elements->empty()) throw InvalidRequest("eventos: indique al menos un evento");
  return named_events(*elements);
}

std::optional<std::string> checked_secret(const json::Value& body) {
  static_assert(max_secret_characters == 512, "a message says it");
  const std::string* secret = find_text(body, "secreto");
  if (secret == nullptr || secret->empty()) return std::nullopt;
  // The JSON parser accepts only valid UTF-8, so count_characters returns a number.
  if (*text::count_characters(*secret) > max_secret_characters) {
    throw InvalidRequest("secreto: no puede pasar de 512 caracteres");
  }
  return *secret;
}

/// Two names that look alike would make a person act on the wrong webhook. A blank is U+0020 alone.
bool has_invisible(std::string_view name) {
  while (!name.empty()) {
    const auto [point, length] = text::decode(name);
    const bool blank = point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200d) ||
                       point == 0x202f || (point >= 0x205f && point <= 0x2064) || point == 0x3000 ||
                       point == 0xfeff || point == 0xad;
    const auto one = name.substr(0, length);
    if (blank || text::one_line(one) != one) return true;
    name.remove_prefix(length);
  }
  return false;
}

/// nullopt: none was sent, or null.
std::optional<std::string> checked_name(const json::Value& body) {
  static_assert(max_name_characters == 60, "a message says it");
  const std::string* name = find_text(body, "nombre");
  if (name == nullptr) return std::nullopt;
  if (name->empty() || text::trim(*name) != *name || has_invisible(*name) ||
      *text::count_characters(*name) > max_name_characters)
    throw InvalidRequest(
        "nombre: debe tener de 1 a 60 caracteres, sin espacios al principio ni al final ni caracteres que "
        "no se vean");
  return *name;
}

Event checked_event(const json::Value& body) {
  const std::string where = "; los nombres están en GET /apientidades/v1/webhooks/eventos";
  const std::string* name = find_text(body, "evento");
  if (name == nullptr || name->empty())
    throw InvalidRequest("evento: indique el nombre de un evento" + where);
  const auto event = find_event(*name);
  if (!event) throw InvalidRequest("evento: no es un evento válido" + where);
  return *event;
}

json::Value checked_extra(const json::Value& body) {
  const json::Value* extra = body.find("datosExtra");
  if (extra == nullptr || extra->is_null()) return {};
  if (extra->object() == nullptr) throw InvalidRequest("datosExtra: debe ser un objeto");
  static_assert(max_extra_depth == 30, "a message says it");
  if (json::depth(*extra) > max_extra_depth)
    throw InvalidRequest("datosExtra: no puede pasar de 30 niveles de listas y objetos");
  return *extra;
}

/// Refuses `null` too: in a merge patch `null` deletes the member, and a webhook always has this member.
bool checked_active(const json::Value& value) {
  if (value.boolean() == nullptr) throw InvalidRequest("activo: debe ser true o false");
  return *value.boolean();
}

void check_members(const json::Value& body) {
  for (const auto& [name, value] : *body.object()) {
    if (name == "secreto")
      throw InvalidRequest("secreto: se cambia con PUT /apientidades/v1/webhooks/{id}/secreto");
    if (name != "url" && name != "eventos" && name != "activo" && name != "nombre")
      throw InvalidRequest("Solo se pueden cambiar url, eventos, activo y nombre");
  }
}

std::chrono::seconds checked_grace(const json::Value& body) {
  constexpr std::chrono::seconds usual = std::chrono::days(1);
  static_assert(max_grace.count() == 604800, "a message says it");
  const json::Value* value = body.find("graciaSegundos");
  if (value == nullptr || value->is_null()) return usual;
  const auto seconds = value->whole_number();
  if (!seconds || *seconds < 0 || *seconds > max_grace.count())
    throw InvalidRequest("graciaSegundos: debe ser un número entero de 0 a 604800");
  return std::chrono::seconds(*seconds);
}

std::optional<platform::UtcTime> checked_time(const json::Value& body, const std::string& field) {
  const std::string* text = find_text(body, field);
  if (text == nullptr) return std::nullopt;
  const auto time = platform::parse_iso8601(*text);
  if (!time) throw InvalidRequest(field + ": debe ser una fecha y hora en UTC, como 2026-11-20T10:00:00Z");
  return time;
}

/// Reads `estados`: which final states a replay covers.
void check_states(const json::Value& body, ReplayRequest& request) {
  const json::Value* value = body.find("estados");
  if (value == nullptr || value->is_null()) return;
  const std::string rule = "estados: debe ser una lista con fallida, entregada o ambas";
  if (value->array() == nullptr || value->array()->empty()) throw InvalidRequest(rule);
  request.failed = false;
  for (const auto& element : *value->array()) {
    const std::string* name = element.string();
    if (name == nullptr || (*name != "fallida" && *name != "entregada")) throw InvalidRequest(rule);
    (*name == "fallida" ? request.failed : request.delivered) = true;
  }
}

}  // namespace

json::Value parse_object(std::string_view body) {
  json::Value value;
  try {
    value = json::parse(body);
  } catch (const json::ParseError& error) {
    throw InvalidRequest(error.what());
  }
  if (value.object() == nullptr) throw InvalidRequest("El cuerpo debe ser un objeto JSON");
  return value;
}

ReplayRequest parse_replay(std::string_view body) {
  const json::Value fields = parse_object(body);
  for (const auto& [name, value] : *fields.object()) {
    if (name != "desde" && name != "hasta" && name != "eventos" && name != "estados" && name != "simular")
      throw InvalidRequest("Solo se admiten desde, hasta, eventos, estados y simular");
  }
  ReplayRequest request;
  const auto since = checked_time(fields, "desde");
  if (!since)
    throw InvalidRequest(
        "desde: indique a partir de qué fecha y hora se crearon las entregas que quiere reenviar");
  request.since = *since;
  request.until = checked_time(fields, "hasta");
  if (request.until && *request.until < request.since)
    throw InvalidRequest("desde: no puede ser posterior a hasta");
  if (const auto* events = fields.find("eventos"); events != nullptr && !events->is_null())
    request.events = checked_events(fields);
  check_states(fields, request);
  if (const auto* simulate = fields.find("simular"); simulate != nullptr && !simulate->is_null()) {
    if (simulate->boolean() == nullptr) throw InvalidRequest("simular: debe ser true o false");
    request.simulate = *simulate->boolean();
  }
  return request;
}

NewSecret parse_new_secret(std::string_view body) {
  const json::Value fields = parse_object(body);
  for (const auto& [name, value] : *fields.object()) {
    if (name != "secreto" && name != "graciaSegundos")
      throw InvalidRequest("Solo se admiten secreto y graciaSegundos");
  }
  auto secret = checked_secret(fields);
  if (!secret)
    throw InvalidRequest("secreto: no puede estar vacío, porque los avisos dejarían de ir firmados");
  return {std::move(*secret), checked_grace(fields)};
}

WebhookPatch parse_patch(std::string_view body, const std::vector<config::HostOverride>& overrides) {
  const json::Value fields = parse_object(body);
  check_members(fields);
  WebhookPatch patch;
  if (fields.find("url") != nullptr) patch.url = checked_url(fields, overrides);
  if (fields.find("eventos") != nullptr) patch.events = checked_events(fields);
  if (const auto* active = fields.find("activo")) patch.active = checked_active(*active);
  if (fields.find("nombre") != nullptr) patch.name = checked_name(fields);
  return patch;
}

Registration parse_registration(std::string_view body, const std::vector<config::HostOverride>& overrides) {
  const json::Value fields = parse_object(body);
  // A braced list is evaluated from left to right, so the fields are judged in the order of
  // web/docs/webhooks.md#las-reglas-de-cada-campo.
  return {checked_url(fields, overrides), checked_events(fields), checked_secret(fields),
          checked_name(fields)};
}

TestEventRequest parse_test_event_request(std::string_view body) {
  const json::Value fields = parse_object(body);
  return {checked_event(fields), checked_extra(fields)};
}

TestEventRequest parse_webhook_test_request(std::string_view body) {
  const json::Value fields = parse_object(body);
  for (const auto& [name, value] : *fields.object())
    if (name != "evento" && name != "datosExtra") throw InvalidRequest("Solo se admiten evento y datosExtra");
  return {checked_event(fields), checked_extra(fields)};
}

}  // namespace webhook
