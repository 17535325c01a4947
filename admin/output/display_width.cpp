#include "admin/output/display_width.hpp"

#include <clocale>
#include <cwchar>
#include <memory>
#include <type_traits>

namespace admin {

namespace {

/// The C library's UTF-8 tables. They are loaded once, because loading reads files: to load them for each
/// cell took minutes for a long list. nullptr: the system has no C.UTF-8, and uselocale changes nothing.
locale_t utf8_locale() {
  static const locale_t loaded = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return loaded;
}

/// Selects the UTF-8 tables, whatever the locale of the environment.
class Utf8Locale {
 public:
  Utf8Locale() : before_(::uselocale(utf8_locale())) {}
  ~Utf8Locale() { ::uselocale(before_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t before_;
};

struct Character {
  std::size_t bytes;
  std::size_t columns;
};

Character first_of(std::string_view text) {
  std::mbstate_t state{};
  wchar_t character = 0;
  const auto bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1};  // a NUL, or not UTF-8
  const int columns = ::wcwidth(character);
  return {bytes, columns < 0 ? bytes : static_cast<std::size_t>(columns)};
}

/// Measures the longest beginning of the text that fits in `columns`.
Character fitting(std::string_view text, std::size_t columns) {
  Character fit{0, 0};
  while (fit.bytes < text.size()) {
    const auto next = first_of(text.substr(fit.bytes));
    if (fit.columns + next.columns > columns) break;
    fit.bytes += next.bytes;
    fit.columns += next.columns;
  }
  return fit;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const Utf8Locale locale;
  return fitting(text, std::string_view::npos / 2).columns;
}

std::string cut_to_width(const std::string& text, std::size_t columns) {
  const Utf8Locale locale;
  if (fitting(text, columns).bytes == text.size()) return text;
  return text.substr(0, fitting(text, columns - 1).bytes) + "…";
}

}  // namespace admin
