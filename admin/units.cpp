#include "admin/units.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "lib/platform/acting_user.hpp"
#include "lib/platform/file.hpp"

namespace admin {

namespace {

using store::StartProblem;

struct Unit {
  store::Program program;
  const char* user;
};

constexpr std::array units{Unit{store::Program::api, "apientidades-api"},
                           Unit{store::Program::dispatcher, "apientidades-dispatcher"},
                           Unit{store::Program::notices, "apientidades-notices"}};

/// Whether ProtectHome= or PrivateTmp= of the units hides the file from them.
bool is_hidden(const std::string& path) {
  constexpr std::array folders{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"};
  return std::ranges::any_of(folders, [&](const char* folder) { return path.starts_with(folder); });
}

/// What reading the files alone does not find.
std::vector<StartProblem> reach_problems(const config::Settings& settings) {
  const auto& database = settings.database;
  std::vector<StartProblem> problems;
  for (const auto& [key, path] : std::initializer_list<std::pair<std::string, std::string>>{
           {"database.socket", database.hosts.empty() ? database.socket : ""},
           {"database.password_file", database.password_file},
           {"database.tls_ca", database.tls_ca},
           {"secrets.key_file", settings.secrets.key_file},
           {"delivery.ca_file", settings.delivery.ca_file}}) {
    std::error_code error;
    const auto real = std::filesystem::weakly_canonical(path, error);
    if (error == std::errc::permission_denied && key == "database.socket")  // reading tells of the others
      problems.push_back({key, key + ": " + path + ": " + error.message()});
    if (is_hidden(path) || is_hidden(real.string()))
      problems.push_back({key, key + ": " + path +
                                   ": the units see nothing below /home, /root, /run/user, "
                                   "/tmp and /var/tmp: put it into /etc/apientidades"});
  }
  return problems;
}

std::vector<StartProblem> password_problems(const std::string& file) try {
  store::require_password(file);
  return {};
} catch (const platform::FileError& error) {
  return {{"database.password_file", error.what()}};
}

void append(std::vector<StartProblem>& to, const std::vector<StartProblem>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::vector<StartProblem> seen_as_user(const Unit& unit) try {
  const platform::ActingUser user(unit.user);
  const auto settings = config::load_config({}, std::nullopt, {}).settings;
  auto problems = reach_problems(settings);
  append(problems, store::file_problems(unit.program, settings));
  if (const auto& file = settings.database.password_file; !file.empty())
    append(problems, password_problems(file));
  return problems;
} catch (const std::exception& error) {
  return {{"configuration", error.what()}};
}

/// Whether a drop-in of the operator's says what network the API's unit has.
bool has_network_drop_in() {
  for (const std::string root : {"/etc", "/run", "/usr/local/lib"}) {
    std::error_code absent;
    const std::filesystem::directory_iterator files(root + "/systemd/system/apientidades-fcgi@.service.d",
                                                    absent);
    for (const auto& file : files) {
      if (file.path().extension() == ".conf" && file.is_regular_file() &&
          platform::read_file(file.path().string()).find("\nPrivateNetwork") != std::string::npos)
        return true;
    }
  }
  return false;
}

/// The API's unit as it is installed has no network, not even to this host's own addresses.
std::vector<StartProblem> network_problems(const config::Settings& settings) {
  if (settings.database.hosts.empty() || has_network_drop_in()) return {};
  return {{"database.hosts",
           "database.hosts: the API's unit has no network: copy "
           "/usr/share/doc/apientidades/examples/remote-database.conf to "
           "/etc/systemd/system/apientidades-fcgi@.service.d and fill it in"}};
}

}  // namespace

std::vector<StartProblem> problems_of_units(const config::Settings& settings) {
  auto problems = network_problems(settings);
  for (const auto& unit : units) {
    // systemd reads this file as root, also where database.password_file names another.
    append(problems, password_problems(store::installed_password_file(store::database_user(unit.program))));
    for (const auto& [key, text] : seen_as_user(unit))
      problems.push_back({key, text + " (as the unit's user " + unit.user + ")"});
  }
  return problems;
}

}  // namespace admin
