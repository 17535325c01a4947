#include "lib/webhook/event_data.hpp"

#include <algorithm>
#include <array>

#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"
#include "lib/text/text.hpp"

namespace webhook {

namespace {

enum class Type { integer, number, text, date, date_time, date_or_date_time };

struct Field {
  Event event;
  std::string_view name;
  Type type;
};

// The table of docs/events.md, row by row.
constexpr std::array fields{
    Field{Event::evaluacion_abierta, "evaluacionId", Type::integer},
    Field{Event::evaluacion_abierta, "titulo", Type::text},
    Field{Event::evaluacion_prorroga, "evaluacionId", Type::integer},
    Field{Event::evaluacion_prorroga, "fechaInicio", Type::date},
    Field{Event::evaluacion_prorroga, "fechaFin", Type::date},
    Field{Event::evaluacion_cierre_proximo, "evaluacionId", Type::integer},
    Field{Event::evaluacion_cierre_proximo, "fechaCierre", Type::date_time},
    Field{Event::evaluacion_cierre_proximo, "diasRestantes", Type::integer},
    Field{Event::evaluacion_cerrada, "evaluacionId", Type::integer},
    Field{Event::evaluacion_cerrada, "titulo", Type::text},
    Field{Event::resultados_provisionales, "evaluacionId", Type::integer},
    Field{Event::resultados_provisionales, "declaracionId", Type::integer},
    Field{Event::resultados_provisionales, "notaFinal", Type::number},
    Field{Event::resultados_definitivos, "evaluacionId", Type::integer},
    Field{Event::resultados_definitivos, "declaracionId", Type::integer},
    Field{Event::resultados_definitivos, "notaFinal", Type::number},
    Field{Event::alegaciones_periodo_abierto, "evaluacionId", Type::integer},
    Field{Event::alegaciones_periodo_abierto, "declaracionId", Type::integer},
    Field{Event::alegaciones_periodo_abierto, "fechaFin", Type::date_or_date_time},
    Field{Event::alegaciones_periodo_cierre, "evaluacionId", Type::integer},
    Field{Event::alegaciones_periodo_cierre, "declaracionId", Type::integer},
    Field{Event::incidencia_respuesta, "incidenciaId", Type::integer},
    Field{Event::incidencia_respuesta, "titulo", Type::text},
    Field{Event::incidencia_cerrada, "incidenciaId", Type::integer},
    Field{Event::incidencia_cerrada, "titulo", Type::text},
    Field{Event::documento_disponible, "documentoId", Type::integer},
    Field{Event::documento_disponible, "declaracionId", Type::integer},
    Field{Event::documento_disponible, "tipo", Type::integer},
    Field{Event::documento_disponible, "descripcion", Type::text},
};

bool is_date(std::string_view text) { return platform::parse_date(text).has_value(); }

bool is_fraction(std::string_view text) {
  return text.empty() ||
         (text.size() > 1 && text[0] == '.' && std::all_of(text.begin() + 1, text.end(), text::is_digit));
}

/// `YYYY-MM-DDThh:mm:ss[.fraction]Z`
bool is_date_time(std::string_view text) {
  constexpr std::size_t date = 10;
  constexpr std::size_t seconds = 19;
  if (text.size() <= seconds || text[date] != 'T' || text.back() != 'Z') return false;
  // A leap second (60) is refused: few date parsers of receivers accept it.
  return is_date(text.substr(0, date)) &&
         platform::parse_time_of_day(text.substr(date + 1, seconds - date - 1)) &&
         is_fraction(text.substr(seconds, text.size() - seconds - 1));
}

bool has_type(const json::Value& value, Type type) {
  const std::string* text = value.string();
  switch (type) {
    case Type::integer:
      return value.integer().has_value();
    case Type::number:
      return value.number() != nullptr;
    case Type::text:
      return text != nullptr;
    case Type::date:
      return text != nullptr && is_date(*text);
    case Type::date_time:
      return text != nullptr && is_date_time(*text);
    case Type::date_or_date_time:
      return text != nullptr && (is_date(*text) || is_date_time(*text));
  }
  return false;
}

std::string_view describe(Type type) {
  switch (type) {
    case Type::integer:
      return "debe ser un entero de 64 bits, sin fracción ni exponente";
    case Type::number:
      return "debe ser un número";
    case Type::text:
      return "debe ser una cadena";
    case Type::date:
      return "debe ser una fecha que exista, AAAA-MM-DD";
    case Type::date_time:
      return "debe ser una fecha y hora UTC que exista, AAAA-MM-DDThh:mm:ss[.fracción]Z";
    case Type::date_or_date_time:
      return "debe ser una fecha que exista, AAAA-MM-DD o AAAA-MM-DDThh:mm:ss[.fracción]Z";
  }
  return "";
}

std::optional<std::string> check_field(const json::Value& data, const Field& field) {
  const json::Value* value = data.find(field.name);
  const auto reason = [&field](std::string_view what) {
    return "datos." + std::string(field.name) + ": " + std::string(what);
  };
  if (value == nullptr) return reason("falta");
  if (!has_type(*value, field.type)) return reason(describe(field.type));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_event_data(Event event, std::string_view json) try {
  const json::Value data = json::parse(json);
  if (data.object() == nullptr) return "datos: debe ser un objeto JSON";
  static_assert(max_data_depth == 31, "a message says it");
  if (json::depth(data) > max_data_depth) return "datos: no puede pasar de 31 niveles de listas y objetos";
  for (const Field& field : fields) {
    if (field.event != event) continue;
    if (auto reason = check_field(data, field)) return reason;
  }
  return std::nullopt;
} catch (const json::ParseError& error) {
  return std::string("datos: ") + error.what();
}

}  // namespace webhook
