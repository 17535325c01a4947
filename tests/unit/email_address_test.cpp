// Which addresses a mail may go to: nothing of them can end a header or a command, or begin another.
#include "lib/text/email_address.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(email_address)

BOOST_AUTO_TEST_CASE(a_dot_string_and_a_domain) {
  const std::string label(63, 'a');
  for (const std::string text :
       {"a@b", "avisos@ejemplo.es", "nombre.apellido+avisos@correo.ejemplo.es", "!#$%&'*+-/=?^_`{|}~@x-1.es"})
    BOOST_TEST(text::is_email_address(text), text);
  BOOST_TEST(text::is_email_address(std::string(64, 'a') + "@b.es"));
  BOOST_TEST(text::is_email_address("a@" + label + ".es"));
  BOOST_TEST(text::is_email_address("a@" + label + "." + label + "." + label + "." + std::string(60, 'a')));
}

BOOST_AUTO_TEST_CASE(nothing_else) {
  const std::string label(63, 'a');
  for (const std::string text : {"",
                                 "a",
                                 "@b.es",
                                 "a@",
                                 "a@b@c.es",
                                 ".a@b.es",
                                 "a.@b.es",
                                 "a..b@c.es",
                                 "a@.es",
                                 "a@b..es",
                                 "a@b.es.",
                                 "a@-b.es",
                                 "a@b-.es",
                                 "a@b_c.es",
                                 "a b@c.es",
                                 " a@b.es",
                                 "a@b.es ",
                                 "\"a\"@b.es",
                                 "a@[192.0.2.1]",
                                 "a@[IPv6:::1]",
                                 "<a@b.es>",
                                 "A <a@b.es>",
                                 "a@b.es,c@d.es",
                                 "a@b.es\r\nBcc: c@d.es",
                                 "a@b.es\n",
                                 "a\t@b.es",
                                 "a@b.es>\r\nRCPT TO:<c@d.es",
                                 "a(x)@b.es",
                                 "a;b@c.es",
                                 "a:b@c.es",
                                 "a\\b@c.es",
                                 "a@b:25",
                                 "ñ@b.es",
                                 "a@ñ.es",
                                 "a@b.es\x7f"})
    BOOST_TEST(!text::is_email_address(text), text);
  BOOST_TEST(!text::is_email_address(std::string("a\0@b.es", 7)));
  BOOST_TEST(!text::is_email_address(std::string(65, 'a') + "@b.es"));
  BOOST_TEST(!text::is_email_address("a@" + label + "a.es"));
  BOOST_TEST(!text::is_email_address("a@" + label + "." + label + "." + label + "." + std::string(61, 'a')));
}

BOOST_AUTO_TEST_SUITE_END()
