// JSON as a value: with json_writer.hpp the adapter of RapidJSON, which nothing else sees. Numbers stay as
// they were written (`7.50`).
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
  /// nullptr when it is of another type.
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const Number* number() const { return std::get_if<Number>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  /// A 64-bit integer without fraction or exponent; nullopt otherwise.
  std::optional<std::int64_t> integer() const;
  /// The same for a number whose fraction is zero, however it is written: an integer of JSON Schema (1.0,
  /// 1e1).
  std::optional<std::int64_t> whole_number() const;
  /// The member of an object; nullptr when this is no object or has none of that name.
  const Value* find(std::string_view name) const;
  bool operator==(const Value&) const = default;

 private:
  std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

/// The message is a Spanish sentence fit for a client; it says what is wrong and where (byte offset), and
/// quotes nothing.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr unsigned max_depth = 32;

/// RFC 8259, strictly: one value, valid UTF-8, no byte-order mark, no lone surrogates, no repeated member
/// names (compared after unescaping), no number beyond a double's range, at most max_depth levels of arrays
/// and objects. Throws ParseError for
/// everything else, and never takes more than time linear in the text (n log n for the names).
Value parse(std::string_view text);

/// Levels of arrays and objects, one inside the other: 0 for anything else, 1 for `[]`.
unsigned depth(const Value& value);

/// Compact. Strings are escaped as RFC 8259 asks and no further; numbers as they were written.
std::string dump(const Value& value);

}  // namespace json
