#include "admin/output/render.hpp"

#include <algorithm>
#include <vector>

#include "admin/output/display_width.hpp"
#include "lib/text/text.hpp"

namespace admin {

namespace {

constexpr std::string_view gap = "  ";

/// Escapes characters that move the cursor or reorder the display.
std::string printable(std::string_view text) {
  std::string result;
  for (;;) {
    const auto end = text.find('\n');
    result += text::one_line(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    result += "\\n";
    text.remove_prefix(end + 1);
  }
}

std::string csv_text(const json::Value& value) {
  if (value.string() != nullptr) return *value.string();
  return value.is_null() ? std::string() : json::dump(value);
}

std::string csv_cell(std::string text) {
  constexpr std::string_view begins_formula = "=+-@\t\r";
  if (!text.empty() && begins_formula.find(text.front()) != std::string_view::npos) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

template <class TextOf>
std::string csv_cells(const json::Object& row, TextOf&& text_of) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(text_of(row[i]));
  return line + "\r\n";
}

std::string cell(const json::Value& value);

std::string joined(const json::Array& values) {
  std::string result;
  for (const auto& value : values) result += (result.empty() ? "" : ",") + cell(value);
  return result;
}

std::string cell(const json::Value& value) {
  if (value.is_null()) return "-";
  if (const auto* flag = value.boolean()) return *flag ? "yes" : "no";
  if (const auto* text = value.string()) return text->empty() ? "-" : printable(*text);
  if (const auto* array = value.array()) return array->empty() ? "-" : joined(*array);
  return printable(json::dump(value));
}

std::string trimmed_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

using Grid = std::vector<std::vector<std::string>>;

/// Aligns rows of equal length; columns in `right` are right-aligned.
std::string align(const Grid& grid, const std::vector<bool>& right) {
  std::vector<std::size_t> widths(right.size());
  for (const auto& row : grid) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string result;
  for (const auto& row : grid) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += gap;
      line += right[i] ? padding + row[i] : row[i] + padding;
    }
    result += trimmed_line(std::move(line));
  }
  return result;
}

/// Whether the column holds only numbers and nulls, with at least one number.
bool is_numeric(const json::Array& rows, const std::string& name) {
  bool some = false;
  for (const auto& row : rows) {
    const auto* value = row.find(name);
    if (value == nullptr || value->is_null()) continue;
    if (value->number() == nullptr) return false;
    some = true;
  }
  return some;
}

std::string render_table(const json::Array& rows, std::optional<std::size_t> cell_limit) {
  if (rows.empty()) return "(none)\n";
  const auto& names = *rows.front().object();
  Grid grid(1);
  std::vector<bool> right;
  for (const auto& [name, value] : names) {
    grid.front().push_back(name);
    right.push_back(is_numeric(rows, name));
  }
  for (const auto& row : rows) {
    auto& line = grid.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto* value = row.find(names[i].first);
      const json::Value shown = value ? *value : json::Value();
      const auto text = cell(shown);
      line.push_back(cell_limit ? cut_to_width(text, *cell_limit) : text);
    }
  }
  return align(grid, right);
}

bool is_list_of_objects(const json::Value& value) {
  const auto* array = value.array();
  return array && !array->empty() && std::ranges::all_of(*array, [](const auto& v) { return v.object(); });
}

std::string indented(const std::string& text) {
  std::string result;
  bool line_start = true;
  for (const char c : text) {
    if (line_start) result += gap;
    result += c;
    line_start = c == '\n';
  }
  return result;
}

std::string render_record(const json::Object& object, std::optional<std::size_t> cell_limit) {
  Grid grid;
  std::string tables;
  for (const auto& [name, value] : object) {
    if (is_list_of_objects(value)) {
      tables += name + '\n' + indented(render_table(*value.array(), cell_limit));
    } else {
      grid.push_back({name, cell(value)});
    }
  }
  return align(grid, {false, false}) + tables;
}

}  // namespace

std::string render_json(const json::Value& value) {
  const auto* array = value.array();
  if (!array || array->empty()) return text::escape_json(json::dump(value)) + '\n';
  std::string result;
  for (const auto& element : *array)
    result += (result.empty() ? "[" : ",\n ") + text::escape_json(json::dump(element));
  return result + "]\n";
}

std::string render_people(const json::Value& value, std::optional<std::size_t> cell_limit) {
  if (const auto* object = value.object()) return render_record(*object, cell_limit);
  const auto* array = value.array();
  if (array && (array->empty() || is_list_of_objects(value))) return render_table(*array, cell_limit);
  return cell(value) + '\n';
}

std::string csv_names(const json::Object& row) {
  return csv_cells(row, [](const json::Member& member) { return member.first; });
}

std::string csv_line(const json::Object& row) {
  return csv_cells(row, [](const json::Member& member) { return csv_text(member.second); });
}

json::Object simulated(json::Object row) {
  row.emplace_back("simulacion", true);
  return row;
}

json::Value time_value(const std::optional<platform::UtcTime>& time) {
  if (!time) return nullptr;
  return platform::format_iso8601(*time);
}

}  // namespace admin
