// The operator's values in the pages of the entities' documentation.
#include "admin/output/operator_pages.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>

#include "tests/unit/temporary_folder.hpp"

namespace fs = std::filesystem;
using admin::operator_page;
using admin::PageFormat;

BOOST_AUTO_TEST_SUITE(operator_pages)

namespace {

config::Settings operators() {
  config::Settings settings;
  settings.api.address = "https://avisos.example.org:8443";
  settings.contact = {.name = "Calidad & \"Cía\" <ñ>",
                      .email = "a&b@example.org",
                      .phone = "+34 900",
                      .page = "https://example.org/?a=1&b=2"};
  return settings;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Folders {
  unit::TemporaryFolder root;
  fs::path source = fs::path(root.path()) / "source";
  fs::path served = fs::path(root.path()) / "var/served";

  Folders() {
    fs::create_directories(source / "descargas");
    root.write("source/index.html", "<p>apientidades.ejemplo.es: quien le dio el token</p>");
    root.write("source/index.md", "apientidades.ejemplo.es: quien le dio el token");
    root.write("source/search_index.js", R"(["apientidades.ejemplo.es: quien le dio el token"])");
    root.write("source/descargas/receptor", "apientidades.ejemplo.es");
    root.write("source/vacia.txt", "");
  }
  void write(const config::Settings& settings) const {
    admin::write_operator_pages(source, served, settings);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_page_without_values_is_as_it_was) {
  const std::string page = "apientidades.ejemplo.es quien le dio el token [Nombre del organismo]";
  BOOST_TEST(operator_page(page, {}, PageFormat::html) == page);
}

BOOST_AUTO_TEST_CASE(every_place_has_the_value) {
  BOOST_TEST(operator_page("<b>https://apientidades.ejemplo.es/x apientidades.ejemplo.es", operators(),
                           PageFormat::html) ==
             "<b>https://avisos.example.org:8443/x avisos.example.org:8443");
  BOOST_TEST(operator_page("[dirección del servicio]", operators(), PageFormat::html) ==
             "https://avisos.example.org:8443");
  BOOST_TEST(operator_page("[Nombre del organismo]", operators(), PageFormat::html) ==
             "Calidad &amp; &quot;Cía&quot; &lt;ñ&gt;");
}

BOOST_AUTO_TEST_CASE(a_contact_is_a_link_in_html_and_a_text_in_markdown) {
  const std::string ways =
      "<a href=\"mailto:a%26b@example.org\">a&amp;b@example.org</a> · +34 900 · "
      "<a href=\"https://example.org/?a=1&amp;b=2\">https://example.org/?a=1&amp;b=2</a>";
  BOOST_TEST(operator_page("[correo o formulario del organismo]", operators(), PageFormat::html) == ways);
  BOOST_TEST(operator_page("quien le dio el token", operators(), PageFormat::markdown) ==
             "Calidad &amp; &quot;Cía&quot; &lt;ñ&gt; · a&amp;b@example.org · +34 900 · "
             "https://example.org/?a=1&amp;b=2");
  config::Settings one;
  one.contact.phone = "900";
  BOOST_TEST(operator_page("quien le dio el token", one, PageFormat::html) == "900");
}

BOOST_AUTO_TEST_CASE(each_kind_of_file_has_what_it_can_show) {
  const Folders folders;
  folders.write(operators());
  BOOST_TEST(read(folders.served / "index.html").starts_with("<p>avisos.example.org:8443: Calidad &amp;"));
  BOOST_TEST(read(folders.served / "index.md").find("<a") == std::string::npos);
  BOOST_TEST(read(folders.served / "search_index.js") ==
             R"(["avisos.example.org:8443: quien le dio el token"])");
  BOOST_TEST(read(folders.served / "descargas/receptor") == "apientidades.ejemplo.es");
  BOOST_TEST((fs::status(folders.served / "vacia.txt").permissions() == fs::perms(0644)));
  BOOST_TEST((fs::status(folders.served / "descargas").permissions() == fs::perms(0755)));
}

BOOST_AUTO_TEST_CASE(a_file_that_would_not_change_is_not_written) {
  const Folders folders;
  folders.write({});
  const fs::file_time_type early{};
  for (const auto& entry : fs::recursive_directory_iterator(folders.served))
    fs::last_write_time(entry.path(), early);
  config::Settings address;
  address.api.address = "https://example.org";
  folders.write(address);
  BOOST_TEST((fs::last_write_time(folders.served / "descargas/receptor") == early));
  BOOST_TEST((fs::last_write_time(folders.served / "index.html") != early));
}

BOOST_AUTO_TEST_CASE(what_the_package_no_longer_has_goes) {
  const Folders folders;
  folders.write({});
  fs::create_directories(folders.served / "antes");
  std::ofstream(folders.served / "antes/antes.html") << "antes";
  std::ofstream(folders.served / "index.html.new") << "antes";
  fs::remove(folders.served / "index.md");
  fs::create_directories(folders.served / "index.md");  // a file here, a folder there
  folders.write({});
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folders.served)) files += entry.is_regular_file();
  BOOST_TEST(files == 5U);
  BOOST_TEST(!fs::exists(folders.served / "antes"));
}

BOOST_AUTO_TEST_CASE(a_wrong_folder_is_refused_and_left_as_it_is) {
  const Folders folders;
  const auto other = fs::path(folders.root.path()) / "other";
  fs::create_directories(other);
  std::ofstream(other / "precious") << "x";
  fs::permissions(other, fs::perms(0700));
  using admin::write_operator_pages;
  BOOST_CHECK_THROW(write_operator_pages(folders.source, other, {}), std::runtime_error);
  BOOST_CHECK_THROW(write_operator_pages(other, folders.served, {}), std::runtime_error);
  BOOST_CHECK_THROW(write_operator_pages(folders.source / "nada", other, {}), std::runtime_error);
  BOOST_CHECK_THROW(write_operator_pages(folders.source, folders.source, {}), std::runtime_error);
  BOOST_CHECK_THROW(write_operator_pages(folders.source, folders.source / "descargas/docs", {}),
                    std::runtime_error);
  BOOST_CHECK_THROW(write_operator_pages(folders.source, folders.root.path(), {}), std::runtime_error);
  BOOST_TEST(fs::exists(other / "precious"));
  BOOST_TEST((fs::status(other).permissions() == fs::perms(0700)));
  BOOST_TEST(!fs::exists(folders.served));
}

BOOST_AUTO_TEST_CASE(a_value_that_names_a_place_is_not_replaced) {
  config::Settings settings;
  settings.contact.name = "Equipo quien le dio el token";
  settings.contact.email = "a?cc=x@example.org";
  BOOST_TEST(operator_page("[Nombre del organismo]", settings, PageFormat::html) == settings.contact.name);
  BOOST_TEST(operator_page("[correo o formulario del organismo]", settings, PageFormat::html) ==
             "<a href=\"mailto:a%3Fcc=x@example.org\">a?cc=x@example.org</a>");
}

BOOST_AUTO_TEST_SUITE_END()
