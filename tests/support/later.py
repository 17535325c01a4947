"""Moves the monotonic clock of a program forward."""
import subprocess
from pathlib import Path

LIBRARY = r"""
#include <cstdlib>
#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  struct stat minutes{};
  if (clock == CLOCK_BOOTTIME && stat(getenv("MINUTES_LATER"), &minutes) == 0) time->tv_sec += 61 * minutes.st_size;
  return result;
}
"""


class Later:
    """`environment` is for the program, in which each call of minute() adds 61 s to the time."""
    def __init__(self, folder: Path):
        library, self.minutes = folder / "later.so", folder / "minutes"
        subprocess.run(["g++", "-x", "c++", "-shared", "-fPIC", "-o", library, "-", "-ldl"], input=LIBRARY, text=True, check=True)
        self.environment = {"LD_PRELOAD": str(library), "MINUTES_LATER": str(self.minutes)}

    def minute(self) -> None:
        with self.minutes.open("a") as file:
            file.write(".")
