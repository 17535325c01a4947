// apientidades-admin: the operator's commands.

#include <unistd.h>

#include <iostream>

#include "admin/run.hpp"
#include "lib/program/program.hpp"

int main(int argc, char** argv) {
  program::open_standard_descriptors();
  return admin::run({argv + 1, argv + argc},
                    {.out = std::cout, .err = std::cerr, .terminal = isatty(STDOUT_FILENO) == 1},
                    program::process_environment());
}
