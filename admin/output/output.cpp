#include "admin/output/output.hpp"

#include <ostream>

#include "admin/command.hpp"
#include "admin/output/render.hpp"
#include "lib/text/text.hpp"

namespace admin {

namespace {

constexpr std::size_t terminal_cell = 48;  // the widest cell of a table on a terminal, in columns

std::string for_people(const Output& output, const Result& result) {
  if (result.text) return *result.text + (result.text->ends_with('\n') ? "" : "\n");
  return render_people(result.value,
                       output.terminal ? std::optional<std::size_t>(terminal_cell) : std::nullopt);
}

}  // namespace

void print(const Output& output, const Result& result) {
  const bool nothing = result.value.is_null() && !result.text;
  if (!nothing) output.out << (output.json ? render_json(result.value) : for_people(output, result));
  if (!output.out.flush()) return;  // run() reports the failed write, unless the pipe's reader has gone
  if (!result.note.empty() && !output.json) complain(output, result.note);
  for (const auto& problem : result.problems) complain(output, problem);
}

void complain(const Output& output, std::string_view message) {
  output.err << program_name << ": " << text::one_line(message) << std::endl;
}

}  // namespace admin
