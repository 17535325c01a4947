#include "admin/output/render.hpp"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/unit/child.hpp"

BOOST_AUTO_TEST_SUITE(admin_render)

namespace {

using json::Array;
using json::Object;
using json::Value;

std::string people(const Value& value, std::optional<std::size_t> limit = {}) {
  return admin::render_people(value, limit);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_table_is_aligned_by_characters_with_numbers_to_the_right) {
  const Value rows = Array{Object{{"id", 7}, {"nombre", "Ñandú"}, {"activa", true}, {"motivo", nullptr}},
                           Object{{"id", 1234}, {"nombre", "x"}, {"activa", false}, {"motivo", "fallos"}}};
  BOOST_TEST(people(rows) ==
             "  id  nombre  activa  motivo\n"
             "   7  Ñandú   yes     -\n"
             "1234  x       no      fallos\n");
}

BOOST_AUTO_TEST_CASE(a_column_is_as_wide_as_it_is_shown) {
  const Value rows =
      Array{Object{{"nombre", "東京大学"}, {"z", "a"}}, Object{{"nombre", "e\u0301te\u0301"}, {"z", "b"}},
            Object{{"nombre", "🎓 x"}, {"z", "c"}}, Object{{"nombre", "nombres"}, {"z", "d"}}};
  BOOST_TEST(people(rows) ==
             "nombre    z\n"
             "東京大学  a\n"
             "e\u0301te\u0301       b\n"
             "🎓 x      c\n"
             "nombres   d\n");
}

BOOST_AUTO_TEST_CASE(a_cut_never_leaves_half_of_a_character_nor_goes_beyond_its_columns) {
  const auto cut = [](const std::string& text, std::size_t limit) {
    return people(Array{Object{{"n", text}}}, limit).substr(2);
  };
  BOOST_TEST(cut("東京大学", 8) == "東京大学\n");
  BOOST_TEST(cut("東京大学", 7) == "東京大…\n");
  BOOST_TEST(cut("東京大学", 6) == "東京…\n");
  BOOST_TEST(cut("abcdee\u0301", 6) == "abcdee\u0301\n");
  BOOST_TEST(cut("abcdee\u0301f", 6) == "abcde…\n");
}

BOOST_AUTO_TEST_CASE(a_column_of_nothing_stays_at_the_left_and_gaps_among_numbers_at_the_right) {
  const Value rows = Array{Object{{"estado", nullptr}, {"ultimo", nullptr}, {"z", "z"}},
                           Object{{"estado", nullptr}, {"ultimo", 200}, {"z", "z"}}};
  BOOST_TEST(people(rows) ==
             "estado  ultimo  z\n"
             "-            -  z\n"
             "-          200  z\n");
}

BOOST_AUTO_TEST_CASE(an_empty_list_is_said) {
  BOOST_TEST(people(Array{}) == "(none)\n");
  BOOST_TEST(admin::render_json(Array{}) == "[]\n");
}

BOOST_AUTO_TEST_CASE(one_thing_has_a_line_for_each_member_and_tables_below) {
  const Value thing = Object{
      {"id", 5}, {"historial", Array{Object{{"numero", 1}, {"error", "timeout"}}}}, {"estado", "fallida"}};
  BOOST_TEST(people(thing) ==
             "id      5\n"
             "estado  fallida\n"
             "historial\n"
             "  numero  error\n"
             "       1  timeout\n");
}

BOOST_AUTO_TEST_CASE(lists_of_names_and_objects_fit_a_cell) {
  BOOST_TEST(people(Object{{"eventos", Array{"a", "b"}}}) == "eventos  a,b\n");
  BOOST_TEST(people(Object{{"historial", Array{}}}) == "historial  -\n");
  BOOST_TEST(people(Object{{"datos", Object{{"nota", json::Number{"7.50"}}}}}) == "datos  {\"nota\":7.50}\n");
}

BOOST_AUTO_TEST_CASE(control_characters_cannot_drive_the_terminal) {
  BOOST_TEST(people(Object{{"error",
                            "a\x1b[2J\nb\x7f\xc2\x9b"
                            "c"}}) == "error  a\\x1b[2J\\nb\\x7f\\xc2\\x9bc\n");
  BOOST_TEST(people(Object{{"error", "¡ñ€!"}}) == "error  ¡ñ€!\n");
}

BOOST_AUTO_TEST_CASE(long_cells_of_tables_are_cut_where_a_limit_is_given) {
  const Value rows = Array{Object{{"url", "ñññññ"}}, Object{{"url", "abcd"}}};
  BOOST_TEST(people(rows, 4) == "url\nñññ…\nabcd\n");
  BOOST_TEST(people(rows) == "url\nñññññ\nabcd\n");
  BOOST_TEST(people(Object{{"url", "abcdef"}}, 4) == "url  abcdef\n");
}

BOOST_AUTO_TEST_CASE(json_has_a_row_to_a_line) {
  BOOST_TEST(admin::render_json(Array{Object{{"id", 1}}, Object{{"id", 2}}}) ==
             "[{\"id\":1},\n {\"id\":2}]\n");
  BOOST_TEST(admin::render_json(Object{{"id", 1}, {"motivo", nullptr}}) == "{\"id\":1,\"motivo\":null}\n");
}

BOOST_AUTO_TEST_CASE(times_are_utc_with_milliseconds) {
  const platform::UtcTime time = std::chrono::sys_days(std::chrono::year(2026) / 11 / 20);
  BOOST_TEST(*admin::time_value(time).string() == "2026-11-20T00:00:00.000Z");
  BOOST_TEST(admin::time_value({}).is_null());
}

BOOST_AUTO_TEST_CASE(rows_as_csv) {
  const auto list =
      json::parse(R"([{"id":7,"nombre":"Uno, \"dos\"","a":null},{"id":8,"nombre":"=1+1","a":"x\ny"}])");
  const auto& rows = *list.array();
  BOOST_TEST(admin::csv_names(*rows[0].object()) == "id,nombre,a\r\n");
  BOOST_TEST(admin::csv_line(*rows[0].object()) == "7,\"Uno, \"\"dos\"\"\",\r\n");
  BOOST_TEST(admin::csv_line(*rows[1].object()) == "8,'=1+1,\"x\ny\"\r\n");
}

BOOST_AUTO_TEST_CASE(what_reorders_a_line_or_is_no_text_is_shown_as_bytes) {
  BOOST_TEST(people(Object{{"error", "a\u202eb\u200f\u061c\xff"}}) ==
             "error  a\\xe2\\x80\\xaeb\\xe2\\x80\\x8f\\xd8\\x9c\\xff\n");
  BOOST_TEST(admin::render_json(Object{{"error", "a\u202eb\u009b31m\x7f\u00f1"}}) ==
             "{\"error\":\"a\\u202eb\\u009b31m\\u007f\u00f1\"}\n");
}

// Commands in docs/operations.md list up to a million rows while all sending is paused, so a list must not
// take long. To load the locale reads a file, which took seconds for a long list. Here no file can be opened
// any more, and without the locale the columns would not be aligned.
BOOST_AUTO_TEST_CASE(only_the_first_cell_of_all_loads_the_locale) {
  const auto child = unit::run_in_child([] {
    const Value rows = Array{Object{{"nombre", "Ñandú"}, {"id", 7}}, Object{{"nombre", "x"}, {"id", 8}}};
    const auto first = people(rows);
    const rlimit no_more{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &no_more);
    return people(rows) == first ? 0 : 1;
  });
  BOOST_TEST(child.status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
