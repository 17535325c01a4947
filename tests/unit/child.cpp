#include "tests/unit/child.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iostream>
#include <system_error>

#include "lib/platform/file.hpp"
#include "tests/unit/temporary_folder.hpp"

namespace unit {

namespace {

/// Redirects `descriptor` to a file. The parent reads only when the child has ended, so a pipe could fill up.
void redirect(int descriptor, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(98);
  ::close(file);
}

[[noreturn]] void be_child(const std::function<int()>& body) {
  int status = 99;
  try {
    status = body();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  std::cout.flush();
  std::cerr.flush();
  ::_exit(status);  // exit() would also run the clean-up of the test runner, which belongs to the parent
}

}  // namespace

ChildResult run_in_child(const std::function<int()>& body) {
  const TemporaryFolder folder;
  const auto out = folder.write("out", "");
  const auto err = folder.write("err", "");
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    redirect(STDOUT_FILENO, out);
    redirect(STDERR_FILENO, err);
    be_child(body);
  }
  int state = 0;
  ::waitpid(child, &state, 0);
  return {WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), platform::read_file(out),
          platform::read_file(err)};
}

}  // namespace unit
