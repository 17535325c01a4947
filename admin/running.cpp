#include "admin/running.hpp"

#include <algorithm>

#include "admin/errors.hpp"
#include "lib/config/running_config.hpp"
#include "lib/platform/service_manager.hpp"

namespace admin {

namespace {

std::vector<std::string> folders_of_notes() {
  if (const auto own = platform::runtime_directory()) return {*own};
  return {"/run/apientidades-api", "/run/apientidades-dispatcher"};
}

std::vector<config::RunningConfig> running() {
  const auto folders = folders_of_notes();
  auto found = config::read_running_notes(folders);
  if (found.empty())
    throw Failure("no running process has noted its configuration in " + folders.front() +
                  (folders.size() > 1 ? " or " + folders.back() : "") +
                  ": `systemctl status apientidades.target`; only root can read it");
  return found;
}

std::string name_of(const config::RunningConfig& process) {
  return process.program + " (" + process.pid + ")";
}

/// Whether the key's value comes from a line of a file, or is the default.
bool is_of_file(const config::KeyValue& key) {
  return key.source == "default" || key.source.find(':') != std::string::npos;
}

}  // namespace

std::string show_line(const config::KeyValue& key) {
  constexpr std::size_t source_column = 60;  // a longer `key=value` does not move the column
  std::string line = key.name + "=" + key.value;
  line.resize(std::max(source_column, line.size()), ' ');
  return line + "  # " + key.source + '\n';
}

bool dispatcher_runs_with(std::string_view key) {
  return std::ranges::any_of(config::read_running_notes(folders_of_notes()), [key](const auto& process) {
    const auto found = std::ranges::find(process.values, key, &config::KeyValue::name);
    return process.program == "apientidades-dispatcher" && found != process.values.end() &&
           !found->value.empty();
  });
}

Result show_running() {
  json::Array rows;
  std::string text;
  for (const auto& process : running()) {
    text += (text.empty() ? "" : "\n") + name_of(process) + ", since " + process.since + '\n';
    for (const auto& key : process.values) {
      rows.emplace_back(json::Object{{"programa", process.program},
                                     {"pid", json::Number{process.pid}},
                                     {"desde", process.since},
                                     {"clave", key.name},
                                     {"valor", key.value},
                                     {"origen", key.source}});
      text += show_line(key);
    }
  }
  return {std::move(rows), text};
}

Result diff_running(const config::Config& file) {
  json::Array rows;
  std::string text;
  const auto processes = running();
  for (const auto& process : processes) {
    for (const auto& key : process.values) {
      const auto other = std::ranges::find(file.values, key.name, &config::KeyValue::name);
      if (other == file.values.end() || other->value == key.value || !is_of_file(key)) continue;
      rows.emplace_back(json::Object{{"programa", process.program},
                                     {"pid", json::Number{process.pid}},
                                     {"clave", key.name},
                                     {"en_vigor", key.value},
                                     {"configurado", other->value},
                                     {"origen", other->source}});
      text += name_of(process) + ": " + key.name + " is " + key.value + ", configured " + other->value +
              " (" + other->source + ")\n";
    }
  }
  const bool same = rows.empty();
  Result result{std::move(rows), same ? "All " + std::to_string(processes.size()) +
                                            " processes have in force what is configured."
                                      : text};
  if (!same) {
    result.status = program::exit_failed;
    result.note = "`config check`, then `systemctl reload apientidades-dispatcher 'apientidades-fcgi@*'`";
  }
  return result;
}

}  // namespace admin
