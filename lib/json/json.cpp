#include "lib/json/json.hpp"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lib/json/json_writer.hpp"
#include "lib/text/text.hpp"
#include "lib/text/utf8.hpp"

namespace json {

namespace {

/// Whether the number is in the range of a double. Many JSON parsers store numbers as doubles.
bool is_finite(const Number& number) { return std::isfinite(std::strtod(number.text.c_str(), nullptr)); }

/// Builds the value from the parser's events: the parser calls one function for each event. Some errors are
/// found only here, not by the parser. The function that finds one returns false, and then the parser stops.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  using Size = rapidjson::SizeType;

  /// Call it once, when the parser has finished.
  Value take() { return std::move(root_); }
  /// Why the builder stopped the parser.
  const char* reason() const { return reason_; }

  bool Default() { return stop("valor no válido"); }  // for typed numbers, which parse() does not ask for
  bool Null() { return add(Value()); }
  bool Bool(bool b) { return add(Value(b)); }
  bool RawNumber(const char* text, Size length, bool) {
    Number number{std::string(text, length)};
    // The parser looks at the exponent alone, and accepts 9e308.
    return is_finite(number) ? add(std::move(number)) : stop("un número demasiado grande");
  }
  bool String(const char* text, Size length, bool) {
    return is_unicode(text, length) && add(std::string(text, length));
  }
  bool Key(const char* text, Size length, bool) {
    if (!is_unicode(text, length)) return false;
    open_.back().members.emplace_back(std::string(text, length), Value());
    return true;
  }
  bool StartArray() { return open(); }
  bool EndArray(Size) {
    Array elements = std::move(open_.back().elements);
    open_.pop_back();
    return add(std::move(elements));
  }
  bool StartObject() { return open(); }
  bool EndObject(Size) {
    Object members = std::move(open_.back().members);
    open_.pop_back();
    if (has_repeated_name(members)) return stop("un objeto repite el nombre de un miembro");
    return add(std::move(members));
  }

 private:
  /// An array or object that is still open.
  struct Container {
    Array elements;
    Object members;  // between Key() and add() the last member has no value
  };

  bool stop(const char* reason) {
    reason_ = reason;
    return false;
  }

  // The parser recurses once per level, so this limit bounds its stack too.
  bool open() {
    if (open_.size() == max_depth) return stop("más de 32 niveles de listas y objetos");
    open_.emplace_back();
    return true;
  }

  // When this is inlined, g++ 12 warns of uninitialised members that the variant does not hold.
  [[gnu::noinline]] bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Container& parent = open_.back(); parent.members.empty()) {
      parent.elements.push_back(std::move(value));
    } else {
      parent.members.back().second = std::move(value);
    }
    return true;
  }

  // The parser turns a lone low surrogate ("\udc00") into bytes that are not UTF-8.
  bool is_unicode(const char* text, Size length) {
    return text::count_characters({text, length}) || stop("un carácter \\u incompleto (sustituto suelto)");
  }

  static bool has_repeated_name(const Object& members) {
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const auto& [name, value] : members) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return std::adjacent_find(names.begin(), names.end()) != names.end();
  }

  std::vector<Container> open_;
  Value root_;
  const char* reason_ = "";
};
static_assert(max_depth == 32, "a message of Builder::open() says it");

const char* describe(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty:
      return "el texto está vacío";
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return "sobra texto después del valor";
    case rapidjson::kParseErrorObjectMissName:
      return "falta el nombre de un miembro, entre comillas";
    case rapidjson::kParseErrorObjectMissColon:
      return "faltan los dos puntos después de un nombre";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket:
      return "falta una coma o la llave de cierre";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket:
      return "falta una coma o el corchete de cierre";
    case rapidjson::kParseErrorStringUnicodeEscapeInvalidHex:
      return "un \\u necesita cuatro cifras hexadecimales";
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:
      return "un carácter \\u incompleto (sustituto suelto)";
    case rapidjson::kParseErrorStringEscapeInvalid:
      return "una cadena lleva un escape no válido o un carácter de control sin escapar";
    case rapidjson::kParseErrorStringMissQuotationMark:
      return "falta la comilla de cierre de una cadena";
    case rapidjson::kParseErrorStringInvalidEncoding:
      return "el texto no es UTF-8 válido";
    case rapidjson::kParseErrorNumberTooBig:
      return "un número demasiado grande";
    case rapidjson::kParseErrorNumberMissFraction:
      return "faltan cifras después del punto de un número";
    case rapidjson::kParseErrorNumberMissExponent:
      return "faltan cifras en el exponente de un número";
    default:
      return "se esperaba un valor";
  }
}

constexpr const char* zero_byte = "el texto lleva un byte cero (en una cadena se escribe \\u0000)";

[[noreturn]] void fail(const char* reason, std::size_t offset) {
  throw ParseError("JSON no válido: " + std::string(reason) + " (byte " + std::to_string(offset) + ")");
}

/// Refuses a byte-order mark, UTF-16 and UTF-32 (RFC 8259 section 8.1), for which the parser's messages would
/// not help.
void require_plain_utf8(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) fail("quite la marca de orden de bytes (BOM) del principio", 0);
  const bool has_wide_mark = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  const bool has_zero = text.substr(0, 2).find('\0') != std::string_view::npos;
  if (has_wide_mark || has_zero) fail("el texto debe ir en UTF-8", 0);
}

/// Writes a number (RFC 8259 section 6) without point and exponent: `-1.50e1` as `-15`. Works on the
/// digits, because as a double 0.99999999999999999999 is 1. Returns nullopt for a number that is no integer,
/// or has an exponent beyond `longest`, unless the number is 0.
std::optional<std::string> shifted_digits(std::string_view number) {
  constexpr int longest = 400;  // digits that an exponent may add or remove
  const auto e = std::min(number.find_first_of("eE"), number.size());
  auto exponent = number.substr(std::min(e + 1, number.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::string digits(number.substr(0, e));
  const auto point = std::min(digits.find('.'), digits.size());
  const auto fraction = digits.size() - std::min(point + 1, digits.size());
  if (point < digits.size()) digits.erase(point, 1);
  if (digits.find_first_of("123456789") == std::string::npos) return "0";
  const auto power = exponent.empty() ? 0 : text::parse_number<int>(exponent).value_or(longest + 1);
  if (power > longest || power < -longest) return std::nullopt;
  for (auto shift = power - static_cast<int>(fraction); shift != 0; shift += shift < 0 ? 1 : -1) {
    if (shift > 0) {
      digits += '0';
    } else {
      if (!digits.ends_with('0')) return std::nullopt;
      digits.pop_back();
    }
  }
  return digits;
}

}  // namespace

std::optional<std::int64_t> Value::integer() const {
  const auto* literal = number();
  return literal == nullptr ? std::nullopt : text::parse_number<std::int64_t>(literal->text);
}

std::optional<std::int64_t> Value::whole_number() const {
  if (const auto plain = integer()) return plain;
  const auto* literal = number();
  if (literal == nullptr) return std::nullopt;
  const auto digits = shifted_digits(literal->text);
  return digits ? text::parse_number<std::int64_t>(*digits) : std::nullopt;
}

const Value* Value::find(std::string_view name) const {
  if (object() == nullptr) return nullptr;
  const auto found = std::find_if(object()->begin(), object()->end(),
                                  [name](const Member& member) { return member.first == name; });
  return found == object()->end() ? nullptr : &found->second;
}

Value parse(std::string_view text) {
  require_plain_utf8(text);
  // Numbers stay text. The parser's own conversions read out of bounds or overflow on crafted exponents, and
  // turn `7.50` into `7.5`.
  constexpr unsigned flags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  Builder builder;
  const rapidjson::ParseResult result = reader.Parse<flags>(stream, builder);
  if (result.Code() == rapidjson::kParseErrorTermination) fail(builder.reason(), result.Offset());
  // The parser takes a zero byte for the end of the text.
  const bool at_zero = result.Offset() < text.size() && text[result.Offset()] == '\0';
  if (result.IsError()) fail(at_zero ? zero_byte : describe(result.Code()), result.Offset());
  if (stream.Tell() != text.size()) fail("sobra texto después del valor", stream.Tell());
  return builder.take();
}

unsigned depth(const Value& value) {
  unsigned deepest = 0;
  if (const auto* array = value.array()) {
    for (const auto& element : *array) deepest = std::max(deepest, depth(element));
    return deepest + 1;
  }
  if (const auto* object = value.object()) {
    for (const auto& [name, member] : *object) deepest = std::max(deepest, depth(member));
    return deepest + 1;
  }
  return 0;
}

std::string dump(const Value& value) {
  Writer writer;
  writer.write(value);
  return writer.take();
}

}  // namespace json
