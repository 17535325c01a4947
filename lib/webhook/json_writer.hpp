// JSON text written piece by piece, for answers with many rows: no tree of values is built first.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "webhook/json.hpp"

namespace webhook::json {

/// Compact, escaped as `dump` does. The caller sees to the structure: in an object a name before each value,
/// and an end for each begin.
class Writer {
 public:
  Writer();
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void name(std::string_view name);

  void write(std::nullptr_t);
  void write(std::same_as<bool> auto b) { write_bool(b); }
  void write(std::int64_t number);
  void write(std::string_view text);
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(const char* text) { write(std::string_view(text)); }
  void write(const Value& value);
  template <class T>
  void write(const std::optional<T>& value) {
    if (value)
      write(*value);
    else
      write(nullptr);
  }

  template <class T>
  void member(std::string_view its_name, const T& value) {
    name(its_name);
    write(value);
  }

  /// Everything written so far. Nothing may be written after it.
  std::string take();

 private:
  void write_bool(bool b);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace webhook::json
