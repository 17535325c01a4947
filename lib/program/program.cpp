#include "lib/program/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "lib/platform/standard_error.hpp"
#include "lib/program/reload.hpp"
#include "lib/text/text.hpp"

namespace program {

namespace {

constexpr std::size_t page_width = 100;

std::string wrap(const std::string& text, std::size_t indent) {
  std::string result;
  std::string line;
  const auto finish = [&] { result += std::string(indent, ' ') + std::exchange(line, {}) + "\n"; };
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    if (!line.empty() && indent + line.size() + 1 + word.size() > page_width) finish();
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  finish();
  return result;
}

void print_help(const std::string& program, const std::string& summary) {
  std::cout << program << ": " << summary << "\n\n"
            << "Usage: " << program << " [--config FILE] [--SECTION.KEY=VALUE ...]\n"
            << "       " << program << " --help | --version\n\n"
            << "  --config FILE  read this file, which must exist, instead of the default one\n"
            << "  --help, -h     show this text\n"
            << "  --version      show the version\n\n"
            << describe_keys() << "\nExit status: 0 done, 1 failed, 2 wrong usage or configuration.\n";
}

struct CommandLine {
  bool help = false;
  bool version = false;
  std::optional<std::string> config;
  std::vector<std::string> keys;
};

CommandLine parse(int argc, const char* const* argv) {
  CommandLine line;
  const auto set_config = [&line](const std::string& file) {
    if (file.empty()) throw config::ConfigError("command line: --config needs a file");
    if (line.config) throw config::ConfigError("command line: --config is given twice");
    line.config = file;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      line.help = true;
    } else if (argument == "--version") {
      line.version = true;
    } else if (argument == "--config") {
      set_config(++i < argc ? argv[i] : "");
    } else if (argument.starts_with("--config=")) {
      set_config(argument.substr(argument.find('=') + 1));
    } else {
      line.keys.push_back(argument);
    }
  }
  return line;
}

int finish_output() {
  if (!std::cout.flush()) throw std::runtime_error("standard output could not be written");
  return exit_done;
}

int fail(const std::string& program, const std::exception& error, int status) {
  // Under the journal, a prefix gives the line the priority of an error (sd-daemon(3)).
  const std::string priority = std::getenv("JOURNAL_STREAM") != nullptr ? "<3>" : "";
  platform::StandardError().write_line(priority + text::one_line(program + ": " + error.what()));
  return status;
}

}  // namespace

config::Config load_daemon_config(int argc, const char* const* argv) {
  const auto line = parse(argc, argv);
  return config::load_config(line.keys, line.config, process_environment());
}

void open_standard_descriptors() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The descriptor is opened for the wrong direction, so that reads and writes fail (EBADF). open(2)
    // returns the lowest free descriptor; that is `fd`, because all lower ones are open.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) std::abort();
  }
}

std::vector<std::string> process_environment() {
  std::vector<std::string> result;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    result.emplace_back(*variable);
  return result;
}

std::string describe_keys() {
  std::string text = wrap(
      "Configuration keys, by section of the INI file " + std::string(config::default_config_path) +
          ". The environment variable APIENTIDADES_SECTION_KEY overrides the file, and "
          "--section.key=value on the command line overrides both. Durations are written 50ms, 5s, 30m, 2h, "
          "5d; sizes 512, 64KiB, 1MiB.",
      0);
  for (const auto& key : config::config_keys()) {
    text += "\n  " + key.name + " = " + (key.default_value.empty() ? "(empty)" : key.default_value) + "\n" +
            wrap(key.description + " [" + key.accepts + "]", 6);
  }
  return text;
}

int run_daemon(int argc, const char* const* argv, const std::string& summary,
               const std::function<int(const config::Config&, const Signals&)>& body) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "apientidades";
  try {
    open_standard_descriptors();
    const Signals signals;
    const auto line = parse(argc, argv);
    if (line.help) {
      print_help(program, summary);
      return finish_output();
    }
    if (line.version) {
      std::cout << program << " " << APIENTIDADES_VERSION << "\n";
      return finish_output();
    }
    return body(config::load_config(line.keys, line.config, process_environment()), signals);
  } catch (const config::ConfigError& error) {
    return fail(program, error, exit_usage);
  } catch (const std::exception& error) {
    return fail(program, error, exit_failed);
  }
}

/// Restores SIGPIPE's default action first: the database's client library ignores the signal, and the parent
/// process may have ignored or blocked it.
void end_if_broken_pipe(int fd) {
  pollfd state{fd, POLLOUT, 0};
  if (::poll(&state, 1, 0) <= 0 || (state.revents & POLLERR) == 0) return;
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGPIPE);
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  std::raise(SIGPIPE);
}

}  // namespace program
