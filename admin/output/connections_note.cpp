#include "admin/output/connections_note.hpp"

#include <filesystem>

namespace admin {

namespace {

constexpr unsigned of_dispatcher = 3;
constexpr unsigned of_others = 10;  // the operator, backups, monitoring

}  // namespace

unsigned handler_processes(const std::string& wants) {
  unsigned count = 2;
  std::error_code none;
  for (const auto& link : std::filesystem::directory_iterator(wants, none)) {
    const auto name = link.path().filename().string();
    const bool first_two = name == "apientidades-fcgi@1.service" || name == "apientidades-fcgi@2.service";
    if (name.starts_with("apientidades-fcgi@") && !first_two) ++count;
  }
  return count;
}

std::string connections_note(const config::Settings& settings, unsigned handlers,
                             std::int64_t max_connections) {
  const unsigned writer = settings.database.evaluation_connections;
  const unsigned programs = handlers * (settings.api.threads + 1) + of_dispatcher;
  const auto needed = writer + programs + of_others;
  if (max_connections >= needed) return {};
  return "database: max_connections is " + std::to_string(max_connections) + ", but the evaluation system (" +
         std::to_string(writer) + "), this host's programs (" + std::to_string(programs) + ") and others (" +
         std::to_string(of_others) + ") may need " + std::to_string(needed) +
         ": raise it, or lower database.evaluation_connections and run apientidades-setup-database";
}

}  // namespace admin
