#include "admin/output/operator_pages.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "admin/output/replace_file.hpp"

namespace admin {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view scheme = "https://";

/// In Markdown, too, nothing of the text becomes HTML.
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

/// For mailto: a character that would begin a part of the URL loses its meaning.
std::string url_escaped(std::string_view email) {
  std::string result;
  for (const char c : email) {
    const auto at = std::string_view("%?&#").find(c);
    if (at == std::string_view::npos)
      result += c;
    else
      result += std::array{"%25", "%3F", "%26", "%23"}.at(at);
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
  return joined({escaped(name), link("mailto:" + url_escaped(operators.email), operators.email, format),
                 escaped(operators.phone), link(operators.page, operators.page, format)});
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

constexpr std::string_view mark = "search_index.js";  // no other folder has one

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto relative = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder));
  return !relative.empty() && *relative.begin() != "..";
}

/// Throws std::runtime_error unless `source` has the pages, and `folder` has them, too, or has nothing.
void require_folders(const fs::path& source, const fs::path& folder) {
  if (!fs::exists(source / mark))
    throw std::runtime_error(source.string() + " is not the documentation as installed: it has no " +
                             std::string(mark));
  if (is_within(folder, source) || is_within(source, folder))
    throw std::runtime_error(folder.string() + " and " + source.string() + " must not be within one another");
  if (fs::exists(folder) && !fs::is_empty(folder) && !fs::exists(folder / mark))
    throw std::runtime_error(folder.string() +
                             " has other files, which would be removed: name a folder for the "
                             "documentation alone");
}

using Paths = std::map<fs::path, bool>;  // relative -> whether it is a folder

Paths paths_in(const fs::path& folder) {
  Paths result;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    result.emplace(fs::relative(entry.path(), folder), entry.is_directory());
  return result;
}

/// Also what is a file here and a folder there, or the reverse.
void remove_others(const fs::path& folder, const Paths& wanted) {
  for (const auto& [path, is_folder] : paths_in(folder)) {
    const auto found = wanted.find(path);
    if (found == wanted.end() || found->second != is_folder) fs::remove_all(folder / path);
  }
}

}  // namespace

std::string operator_page(std::string_view page, const config::Settings& settings, PageFormat format) {
  const auto& operators = settings.contact;
  const auto& address = settings.api.address;
  const std::array<std::pair<std::string_view, std::string>, 5> values{
      {{"apientidades.ejemplo.es", address.empty() ? "" : address.substr(scheme.size())},
       {"[dirección del servicio]", address},
       {"[Nombre del organismo]", escaped(operators.name)},
       {"[correo o formulario del organismo]", contact("", operators, format)},
       {"quien le dio el token", contact(operators.name, operators, format)}}};
  std::string result;
  for (auto rest = page; !rest.empty();) {
    const auto found = std::ranges::find_if(
        values, [&](const auto& one) { return !one.second.empty() && rest.starts_with(one.first); });
    result += found == values.end() ? std::string(1, rest.front()) : found->second;
    rest.remove_prefix(found == values.end() ? 1 : found->first.size());
  }
  return result;
}

void write_operator_pages(const fs::path& source, const fs::path& folder, const config::Settings& settings) {
  require_folders(source, folder);
  const auto wanted = paths_in(source);
  make_folder(folder);
  remove_others(folder, wanted);
  const auto write = [&](const fs::path& path) {
    const auto content = content_of(source / path, settings);
    if (!fs::exists(folder / path) || read(folder / path) != content) replace_file(folder / path, content);
    fs::permissions(folder / path, fs::perms(0644));
  };
  write(mark);  // first, so that a run after one that was killed finds it
  for (const auto& [path, is_folder] : wanted) is_folder ? make_folder(folder / path) : write(path);
}

}  // namespace admin
