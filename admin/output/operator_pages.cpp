#include "admin/output/operator_pages.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/output/replace_file.hpp"

namespace admin {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view scheme = "https://";

/// HTML's escapes are Markdown's, too.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string link(const std::string& address, const std::string& text, PageFormat format) {
  if (format == PageFormat::markdown || text.empty()) return escaped(text);
  return "<a href=\"" + escaped(address) + "\">" + escaped(text) + "</a>";
}

std::string joined(const std::array<std::string, 4>& parts) {
  std::string result;
  for (const auto& part : parts)
    if (!part.empty()) result += (result.empty() ? "" : " · ") + part;
  return result;
}

std::string contact(const std::string& name, const config::ContactSettings& operators, PageFormat format) {
  return joined({escaped(name), link("mailto:" + operators.email, operators.email, format),
                 escaped(operators.phone), link(operators.page, operators.page, format)});
}

void replace_all(std::string& page, std::string_view text, const std::string& value) {
  if (value.empty()) return;
  for (auto at = page.find(text); at != std::string::npos; at = page.find(text, at + value.size()))
    page.replace(at, text.size(), value);
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw std::runtime_error(path.string() + " could not be read");
  return content;
}

std::string content_of(const fs::path& path, const config::Settings& settings) {
  if (path.extension() == ".html") return operator_page(read(path), settings, PageFormat::html);
  if (path.extension() == ".md") return operator_page(read(path), settings, PageFormat::markdown);
  if (path.extension() == ".js") {  // the search's index: a host needs no escape there, other values would
    config::Settings address;
    address.api = settings.api;
    return operator_page(read(path), address, PageFormat::markdown);
  }
  return read(path);
}

/// nginx reads the folders as www-data, whatever the umask of the shell is.
void make_folder(const fs::path& path) {
  fs::create_directories(path);
  fs::permissions(path, fs::perms(0755));
}

void remove_others(const fs::path& folder, const std::set<fs::path>& kept) {
  std::vector<fs::path> others;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!kept.contains(entry.path())) others.push_back(entry.path());
  for (const auto& path : others) fs::remove_all(path);
}

}  // namespace

std::string operator_page(std::string page, const config::Settings& settings, PageFormat format) {
  const auto& operators = settings.contact;
  const auto& address = settings.api.address;
  const std::array<std::pair<std::string_view, std::string>, 5> values{
      {{"apientidades.ejemplo.es", address.empty() ? "" : address.substr(scheme.size())},
       {"[dirección del servicio]", address},
       {"[Nombre del organismo]", escaped(operators.name)},
       {"[correo o formulario del organismo]", contact("", operators, format)},
       {"quien le dio el token", contact(operators.name, operators, format)}}};
  for (const auto& [text, value] : values) replace_all(page, text, value);
  return page;
}

void write_operator_pages(const fs::path& source, const fs::path& folder, const config::Settings& settings) {
  std::set<fs::path> kept;
  make_folder(folder);
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const auto path = folder / fs::relative(entry.path(), source);
    kept.insert(path);
    if (entry.is_directory()) {
      make_folder(path);
      continue;
    }
    const auto content = content_of(entry.path(), settings);
    if (!fs::exists(path) || read(path) != content) replace_file(path, content);
  }
  remove_others(folder, kept);
}

}  // namespace admin
