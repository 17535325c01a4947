// Writes JSON text piece by piece: an answer with many rows needs no tree of values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/json/json.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/id.hpp"

namespace json {

/// Whether a JSON string must escape the character (RFC 8259 section 7).
constexpr bool needs_escape(char c) { return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\'; }

/// A member's name, a literal in the source; the compiler checks that it needs no escape.
class Name {
 public:
  template <std::size_t size>
  consteval Name(const char (&name)[size]) : text_(name, size - 1) {  // NOLINT: implicit, from literals only
    for (const char c : text_)
      if (needs_escape(c)) throw "would have to be escaped";
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// Writes no white space, and escapes like `dump`. The caller is responsible for the structure: in an
/// object a name before each value, and an end for each begin.
class Writer {
 public:
  /// Reserves `expected` bytes.
  explicit Writer(std::size_t expected = 4096);
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void name(Name name);

  void write(std::nullptr_t);
  void write(std::same_as<bool> auto b) { write_bool(b); }
  void write(std::int64_t number);
  template <class Kind>
  void write(platform::Id<Kind> id) {
    write(id.number());
  }
  void write(std::string_view text);
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(const char* text) { write(std::string_view(text)); }
  void write(platform::UtcTime time);  // as a string, in ISO 8601
  void write(const Value& value);
  template <class T>
  void write(const std::optional<T>& value) {
    if (value)
      write(*value);
    else
      write(nullptr);
  }

  template <class T>
  void member(Name its_name, const T& value) {
    name(its_name);
    write(value);
  }

  /// Returns everything written so far. Write nothing afterwards.
  std::string take();

 private:
  void write_bool(bool b);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace json
