#include "admin/output/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <system_error>

#include "admin/command.hpp"
#include "admin/errors.hpp"
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

void write(const PrivateFile& file) {
  const int fd = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  errno = fd < 0 ? errno : ENOSPC;  // of a write that is cut short
  const bool written =
      fd >= 0 && ::write(fd, file.text.data(), file.text.size()) == std::ssize(file.text) && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!written)
    throw Failure(file.path + " could not be written (" + std::generic_category().message(error) +
                  "): " + file.remedy);
}

}  // namespace

void print(const Output& output, const Result& result) {
  if (result.file) write(*result.file);
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
