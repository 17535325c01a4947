// JSON as a value. This library is the adapter of RapidJSON, which only its json.cpp and json_writer.cpp see.
// Numbers keep their spelling (`7.50`).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/platform/id.hpp"

namespace json {

class Value;
struct Number {
  std::string text;  // the literal, valid JSON
  bool operator==(const Number&) const = default;
};
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
using Object = std::vector<Member>;  // in the order written; names are unique

class Value {
 public:
  Value() = default;  ///< null
  Value(std::nullptr_t) {}
  Value(bool b) : data_(b) {}
  Value(std::int64_t i) : data_(Number{std::to_string(i)}) {}
  Value(int i) : Value(static_cast<std::int64_t>(i)) {}
  template <class Kind>
  Value(platform::Id<Kind> id) : Value(id.number()) {}
  Value(Number n) : data_(std::move(n)) {}
  Value(std::string s) : data_(std::move(s)) {}
  Value(std::string_view s) : data_(std::string(s)) {}
  Value(const char* s) : data_(std::string(s)) {}
  Value(Array a) : data_(std::move(a)) {}
  Value(Object o) : data_(std::move(o)) {}
  template <class T>
  Value(const std::optional<T>& o) {
    if (o) *this = Value(*o);
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  /// These five functions return nullptr when the value has another type.
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const Number* number() const { return std::get_if<Number>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  /// The value of a 64-bit integer without fraction or exponent; nullopt for anything else.
  std::optional<std::int64_t> integer() const;
  /// As integer(), but also accepts other spellings of an integer, as JSON Schema does (1.0, 1e1), with
  /// exponents from -400 to 400.
  std::optional<std::int64_t> whole_number() const;
  /// The member of that name; nullptr when this is not an object or has no such member.
  const Value* find(std::string_view name) const;
  bool operator==(const Value&) const = default;

 private:
  std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

/// what() is a Spanish sentence for the client: what is wrong and at which byte. It quotes nothing of the
/// text.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr unsigned max_depth = 32;

/// Parses strictly by RFC 8259: one value, valid UTF-8, no byte-order mark, no lone surrogates, no repeated
/// member names (compared after unescaping), no number beyond a double's range, at most max_depth levels of
/// arrays and objects. Throws ParseError for anything else. Takes time linear in the text, and n log n for an
/// object with n names.
Value parse(std::string_view text);

/// The levels of nested arrays and objects: 1 for `[]`, 0 for a value that is neither.
unsigned depth(const Value& value);

/// Writes the value without white space. Escapes only what RFC 8259 requires, and keeps the spelling of
/// numbers.
std::string dump(const Value& value);

}  // namespace json
