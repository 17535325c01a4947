// nginx limits, nginx origins, nginx docs

#include <filesystem>

#include "admin/commands.hpp"
#include "admin/output/nginx_limits.hpp"
#include "admin/output/operator_pages.hpp"
#include "admin/output/replace_file.hpp"

namespace admin {

namespace {

constexpr std::string_view snippets = "/etc/nginx/snippets";
constexpr std::string_view installed_pages = "/usr/share/apientidades/web/docs";
constexpr std::string_view served_pages = "/var/lib/apientidades/docs";

Result limits(Context& context, const Arguments& arguments) {
  const auto& settings = context.config.settings.limits;
  const std::filesystem::path folder = arguments.text("folder").value_or(std::string(snippets));
  const auto zones = folder / "apientidades-limit-zones.conf";
  const auto location = folder / "apientidades-limits.conf";
  replace_file(zones, nginx_limit_zones(settings));
  replace_file(location, nginx_limits(settings));
  return {json::Object{{"ficheros", json::Array{zones.string(), location.string()}}},
          zones.string() + " and " + location.string() +
              " written. They are in force after: nginx -t && systemctl reload nginx"};
}

json::Object origins_of(const config::DeliverySettings& settings) {
  json::Array networks;
  for (const auto& source : settings.source_addresses) networks.emplace_back(source.network.to_string());
  return {{"origenes", std::move(networks)}};
}

Result origins(Context& context, const Arguments& arguments) {
  const std::filesystem::path folder = arguments.text("folder").value_or(std::string(snippets));
  const auto file = folder / "apientidades-origenes.json";
  replace_file(file, json::dump(origins_of(context.config.settings.delivery)) + '\n');
  return {json::Object{{"ficheros", json::Array{file.string()}}},
          file.string() + " written: it is what /apientidades/origenes.json answers from now on"};
}

Result docs(Context& context, const Arguments& arguments) {
  const std::filesystem::path source = arguments.text("from").value_or(std::string(installed_pages));
  const std::filesystem::path folder = arguments.text("folder").value_or(std::string(served_pages));
  write_operator_pages(source, folder, context.config.settings);
  return {json::Object{{"carpeta", folder.string()}},
          folder.string() +
              " written: nginx reads it there, if its site includes snippets/apientidades-site.conf"};
}

}  // namespace

std::vector<Command> nginx_commands() {
  return {
      {.words = "nginx limits",
       .summary = "Write the rate limits for nginx, which cannot read the configuration",
       .details =
           "Run it again, and reload nginx, whenever limits.*requests_per_* changes. Needs no database.",
       .options = {.options = {{"folder", "PATH", "where the snippets are (/etc/nginx/snippets)"}}},
       .example = "apientidades-admin nginx limits",
       .recorded = Recorded::never,
       .run = limits,
       .needs_password = false},
      {.words = "nginx origins",
       .summary = "Write delivery.source_addresses for entities, as origenes.json",
       .details = "Run it again whenever delivery.source_addresses changes. Needs no database.",
       .options = {.options = {{"folder", "PATH", "where the snippets are (/etc/nginx/snippets)"}}},
       .example = "apientidades-admin nginx origins",
       .recorded = Recorded::never,
       .run = origins,
       .needs_password = false},
      {.words = "nginx docs",
       .summary = "Write the entities' documentation with contact.* and api.address",
       .details = "Run it again whenever one of these keys changes. Needs no database. It removes files that "
                  "are not of\n"
                  "the documentation from its folder, and refuses a folder that has only such files.",
       .options = {.options = {{"from", "PATH", "the pages as installed (/usr/share/apientidades/web/docs)"},
                               {"folder", "PATH", "where nginx reads them (/var/lib/apientidades/docs)"}}},
       .example = "apientidades-admin nginx docs",
       .recorded = Recorded::never,
       .run = docs,
       .needs_password = false},
  };
}

}  // namespace admin
