#include "lib/webhook/target_url.hpp"

#include <boost/test/unit_test.hpp>
#include <clocale>

using config::HostOverride;
using platform::IpAddress;
using webhook::find_override;
using webhook::judge_target_url;
using webhook::TargetUrl;
using webhook::UrlRejection;

namespace {

const std::vector<HostOverride> none;
const std::vector<HostOverride> overrides{{"*.receptor.test", IpAddress::parse("127.0.0.1").value()},
                                          {"buzon", IpAddress::parse("10.0.0.5").value()}};

/// The message of a rejection; empty when the URL was accepted.
std::string rejection(std::string_view url, const std::vector<HostOverride>& with = none) {
  const auto verdict = judge_target_url(url, with);
  const auto* rejected = std::get_if<UrlRejection>(&verdict);
  return rejected == nullptr ? "" : rejected->message;
}

bool accepted(std::string_view url, const std::vector<HostOverride>& with = none) {
  return rejection(url, with).empty();
}

bool rejected_saying(std::string_view url, std::string_view what) {
  return rejection(url).find(what) != std::string::npos;
}

/// "host:port" of an accepted URL; the message of the rejection of any other.
std::string dialled(std::string_view url, const std::vector<HostOverride>& with = none) {
  const auto verdict = judge_target_url(url, with);
  const auto* target = std::get_if<TargetUrl>(&verdict);
  return target == nullptr ? rejection(url, with) : target->host + ":" + std::to_string(target->port);
}

std::string stored(std::string_view url) {
  const auto verdict = judge_target_url(url, none);
  const auto* target = std::get_if<TargetUrl>(&verdict);
  return target == nullptr ? rejection(url) : target->text;
}

std::string with_length(std::size_t length) {
  std::string url = "https://example.com/";
  return url + std::string(length - url.size(), 'a');
}

}  // namespace

BOOST_AUTO_TEST_SUITE(target_url)

BOOST_AUTO_TEST_CASE(ordinary_urls_are_stored_as_sent) {
  for (const auto* url :
       {"https://example.com", "https://example.com/", "https://Example.COM/Avisos?a=1&b=%20",
        "https://example.com?x", "https://a.b.c.example.org:8443/x/../y;p=1", "https://my_host.example.com/",
        "https://xn--espaa-rta.es/", "https://8.8.8.8/x", "https://[2606:4700::1111]:444/x",
        "https://1password.com/", "https://example.com/a@b:c", "https://example.com/%C3%A1?q=[1]"}) {
    BOOST_TEST(stored(url) == url);
  }
}

BOOST_AUTO_TEST_CASE(host_and_port_are_those_that_libcurl_dials) {
  BOOST_TEST(dialled("https://Example.COM/x") == "example.com:443");
  BOOST_TEST(dialled("https://example.com:8443/x") == "example.com:8443");
  BOOST_TEST(dialled("https://example.com:65535?x") == "example.com:65535");
  BOOST_TEST(dialled("https://[2606:4700:0:0::1111]:444") == "2606:4700::1111:444");
}

BOOST_AUTO_TEST_CASE(it_must_not_be_empty) { BOOST_TEST(rejected_saying("", "vacía")); }

BOOST_AUTO_TEST_CASE(it_begins_with_https) {
  for (const auto* url :
       {"http://example.com", "HTTPS://example.com", "Https://example.com", " https://example.com",
        "https:/example.com", "https:example.com", "//example.com", "example.com", "ftp://example.com",
        "https", "javascript:alert(1)", "file:///etc/passwd", "\thttps://example.com"}) {
    BOOST_TEST(rejected_saying(url, "empezar por https://"), url);
  }
}

BOOST_AUTO_TEST_CASE(length_counts_characters_as_sent_and_as_stored) {
  BOOST_TEST(accepted(with_length(2000)));
  BOOST_TEST(rejected_saying(with_length(2001), "2000"));
  // 2000 characters as sent, but more once the host is punycode.
  const std::string idn = "https://ñ.example.com/";
  BOOST_TEST(rejected_saying(idn + std::string(2001 - idn.size(), 'a'), "2000"));
  // 2000 characters in more than 2000 bytes: not too long, but not ASCII.
  const std::string accents = "https://example.com/";
  std::string long_in_bytes = accents;
  for (std::size_t i = accents.size(); i < 2000; ++i) long_in_bytes += "á";
  BOOST_TEST(rejected_saying(long_in_bytes, "ASCII"));
  BOOST_TEST(rejected_saying(long_in_bytes + "á", "2000"));
}

BOOST_AUTO_TEST_CASE(the_documented_order) {
  BOOST_TEST(rejected_saying("http://localhost", "empezar por https://"));
  BOOST_TEST(rejected_saying("https://localhost/" + std::string(2000, 'a'), "2000"));
}

BOOST_AUTO_TEST_CASE(private_ipv4) {
  for (const auto* host :
       {"127.0.0.1", "127.0.0.1.", "0.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
        "192.168.1.1", "169.254.169.254", "100.64.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192",
        "192.0.2.1", "224.0.0.1", "255.255.255.255", "198.18.0.1"}) {
    BOOST_TEST(rejected_saying("https://" + std::string(host) + "/x", "local, privada"), host);
    BOOST_TEST(rejected_saying("https://" + std::string(host) + ":8443", "local, privada"), host);
  }
}

// Programs differ on which address an unusual spelling means, or take it for a name. So every unusual
// spelling is refused, even of a public address.
BOOST_AUTO_TEST_CASE(ipv4_in_unusual_spellings) {
  for (const auto* host : {"127.1",           "127.0.1",
                           "0x7f.1",          "0x7f000001",
                           "0X7F.0.0.1",      "2130706433",
                           "0177.1",          "0177.0.0.01",
                           "017700000001",    "0",
                           "00.0x0",          "0xa000001",
                           "0xc0a80101",      "3232235777",
                           "2852039166",      "0xa83f8110",
                           "169.254.43518",   "0xA9.0xFE.0251.254",
                           "012.0x1.1",       "4294967295",
                           "127.1.",          "0x7f.1.",
                           "127.000.000.001", "010.8.8.8",
                           "134744072",       "0x08.0x08.2056",
                           "0X8.8.8.8",       "8.8.8.08",
                           "8.8.2056",        "1.2.3.4.5",
                           "256.256.256.256", "example.7",
                           "example.0x7f",    "example.0X7F",
                           "example.0x",      "4294967296",
                           "0x100000000",     "8.8.8.8.8.",
                           "127.0.0.0x"}) {
    BOOST_TEST(rejected_saying("https://" + std::string(host) + "/x", "cuatro números decimales"), host);
    BOOST_TEST(rejected_saying("https://" + std::string(host) + ":8443", "cuatro números decimales"), host);
  }
  BOOST_TEST(!accepted("https://127.0.0.1../"));
}

BOOST_AUTO_TEST_CASE(private_ipv4_in_unicode_digits) {
  for (const auto* host :
       {"１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "127．0．0．1", "𝟭𝟮𝟳.0.0.1", "⑩.0.0.1", "０ｘ７ｆ.1"}) {
    BOOST_TEST(!accepted("https://" + std::string(host) + "/"), host);
  }
  BOOST_TEST(rejected_saying("https://１２７.0.0.1/", "local, privada"));
  BOOST_TEST(rejected_saying("https://127。0。0。1/", "local, privada"));
}

BOOST_AUTO_TEST_CASE(private_ipv6_and_its_ipv4_carrying_forms) {
  for (const auto* host : {"[::1]",
                           "[::]",
                           "[0:0:0:0:0:0:0:1]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[::ffff:8.8.8.8]",
                           "[::127.0.0.1]",
                           "[64:ff9b::10.0.0.1]",
                           "[2002:7f00:1::]",
                           "[2002:a00:1::1]",
                           "[2001:0:1::1]",
                           "[fe80::1]",
                           "[fc00::1]",
                           "[fd00::1]",
                           "[ff02::1]",
                           "[2001:db8::1]",
                           "[fec0::1]",
                           "[fd00:ec2::254]",
                           "[0000:0000:0000:0000:0000:FFFF:7F00:0001]",
                           "[::FFFF:0:10.0.0.1]",
                           "[2001:0:a9fe:a9fe::1]",
                           "[0:0:0:0:0:ffff:169.254.169.254]",
                           "[64:FF9B:0:0:0:0:169.254.169.254]",
                           "[64:ff9b:1::8.8.8.8]",
                           "[::ffff:0:0]",
                           "[::8.8.8.8]",
                           "[2002:808:808::]"}) {
    BOOST_TEST(rejected_saying("https://" + std::string(host) + ":443/", "local, privada"), host);
  }
}

BOOST_AUTO_TEST_CASE(malformed_ipv6) {
  for (const auto* host :
       {"[", "[]", "[::1", "::1]", "[::1]x", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%25]", "[1.2.3.4]",
        "[v1.a]", "[2606:4700::1111", "2606:4700::1111", "[2606:4700::1111]]", "[[2606:4700::1111]]", "[:::]",
        "[example.com]", "a[2606:4700::1111]", "[２606:4700::1111]"}) {
    BOOST_TEST(!accepted("https://" + std::string(host) + "/"), host);
  }
}

BOOST_AUTO_TEST_CASE(private_names) {
  for (const auto* host : {"localhost",
                           "LOCALHOST",
                           "localhost.",
                           "a.localhost",
                           "intranet",
                           "servidor",
                           "a.local",
                           "a.localdomain",
                           "localhost.localdomain",
                           "localhost4",
                           "ip6-loopback",
                           "localhost4.localdomain4",
                           "localhost6.localdomain6",
                           "x.internal",
                           "metadata.google.internal",
                           "x.intranet",
                           "x.lan",
                           "x.home",
                           "x.corp",
                           "x.private",
                           "x.priv",
                           "x.dmz",
                           "api.default.svc",
                           "x.cluster",
                           "x.service.consul",
                           "host.docker",
                           "router.home.arpa",
                           "home.arpa",
                           "1.0.168.192.in-addr.arpa",
                           "x.test",
                           "x.invalid",
                           "x.onion",
                           "X.LOCAL.",
                           "receptor.test",
                           "ｌｏｃａｌｈｏｓｔ",
                           "local\u00ADhost",
                           "x.ｌｏｃａｌ"}) {
    BOOST_TEST(rejected_saying("https://" + std::string(host) + "/", "local, privada"), host);
  }
  for (const auto* host : {"localhost.example.com", "mylocalhost.com", "example.homes", "thelan.org",
                           "test.example.org", "local.es", "arpa.example.net"}) {
    BOOST_TEST(accepted("https://" + std::string(host) + "/"), host);
  }
}

BOOST_AUTO_TEST_CASE(malformed_hosts) {
  for (const auto* url : {"https://",
                          "https:///",
                          "https:///example.com",
                          "https:////example.com",
                          "https://?x",
                          "https://:443/",
                          "https://.",
                          "https://..",
                          "https://.example.com",
                          "https://example..com",
                          "https://example.com../",
                          "https://exa%6dple.com/",
                          "https://%31%32%37.0.0.1/",
                          "https://127.0.0.1%00.example.com/",
                          "https://exa$mple.com/",
                          "https://a,b.com/",
                          "https://(x).com",
                          "https://example.com;a",
                          "https://*.example.com/",
                          "https://a=b.com",
                          "https://a&b.com",
                          "https://example.com%2f@x.com/",
                          "https://example.com:443:80/",
                          "https://-example.com/",
                          "https://example-.com/",
                          "https://a.-example.com/",
                          "https://-/",
                          "https://{x}.com"}) {
    BOOST_TEST(!accepted(url), url);
  }
  BOOST_TEST(!accepted("https://" + std::string(64, 'a') + ".com/"));
  BOOST_TEST(accepted("https://" + std::string(63, 'a') + ".com/"));
  std::string long_name;
  for (int i = 0; i < 50; ++i) long_name += "abcde.";
  BOOST_TEST(!accepted("https://" + long_name + "com/"));
}

// libcurl's parser and WHATWG's find different hosts in the first URL.
BOOST_AUTO_TEST_CASE(backslashes_white_space_and_control_characters) {
  using namespace std::string_view_literals;
  for (const auto url :
       {"https://good.example.com\\@127.0.0.1/"sv, "https://example.com\\x"sv, "https://example.com/a\\b"sv,
        "https://exa mple.com/"sv, "https://example.com/a b"sv, "https://example.com/ "sv,
        "https://example.com/\t"sv, "https://example.com/\r\nX-Evil: 1"sv,
        "https://example.com\n.evil.com/"sv, "https://example.com/\0x"sv, "https://example.com/\x7f"sv,
        "https://127.0.0.1\0.example.com/"sv, "https://example.com\x01/"sv}) {
    BOOST_TEST(rejected_saying(url, "espacios"), url);
  }
}

BOOST_AUTO_TEST_CASE(text_that_is_not_utf8) {
  BOOST_TEST(!accepted("https://example.com/\xFF"));
  BOOST_TEST(!accepted("https://\xC3.example.com/"));
}

BOOST_AUTO_TEST_CASE(credentials) {
  for (const auto* url : {"https://user@example.com/", "https://user:pass@example.com/",
                          "https://@example.com/", "https://:@example.com/", "https://example.com@127.0.0.1/",
                          "https://a@b@example.com", "https://example.com:443@evil.com/"}) {
    BOOST_TEST(rejected_saying(url, "usuario"), url);
  }
  BOOST_TEST(accepted("https://example.com/?a@b"));
}

BOOST_AUTO_TEST_CASE(fragments) {
  for (const auto* url : {"https://example.com/#x", "https://example.com#x", "https://example.com/?a#"}) {
    BOOST_TEST(rejected_saying(url, "fragmento"), url);
  }
  BOOST_TEST(!accepted("https://example.com#@127.0.0.1/"));
}

BOOST_AUTO_TEST_CASE(ports) {
  for (const auto* port :
       {"0", "65536", "99999999999999999999", "x", "80x", "-1", "+443", "", "8e1", "４４３", "443:80"}) {
    BOOST_TEST(rejected_saying("https://example.com:" + std::string(port) + "/", "puerto"), port);
    BOOST_TEST(rejected_saying("https://[2606:4700::1111]:" + std::string(port) + "/", "puerto"), port);
  }
  BOOST_TEST(dialled("https://example.com:2/") == "example.com:2");
  BOOST_TEST(dialled("https://example.com:0443/") == "example.com:443");
}

BOOST_AUTO_TEST_CASE(an_idn_host_becomes_punycode) {
  BOOST_TEST(stored("https://españa.es/avisos") == "https://xn--espaa-rta.es/avisos");
  BOOST_TEST(stored("https://ESPAÑA.es:8443/avisos") == "https://xn--espaa-rta.es:8443/avisos");
  BOOST_TEST(stored("https://straße.de/") == "https://xn--strae-oqa.de/");
  BOOST_TEST(stored("https://例え。jp?x=1") == "https://xn--r8jz45g.jp?x=1");
  BOOST_TEST(dialled("https://españa.es/") == "xn--espaa-rta.es:443");
  // Characters that Unicode maps to separators, a percent sign or spaces, and one that reverses text.
  for (const auto* url :
       {"https://example.com／@evil.com/", "https://example.com＃.evil.com/", "https://example.com：80/",
        "https://a％62.com/", "https://a\u00A0b.com/", "https://a\u3000b.com/", "https://℀.com/",
        "https://\u202Emoc.elpmaxe/", "https://＠example.com/"}) {
    BOOST_TEST(!accepted(url), url);
  }
}

// libcurl's own conversion to punycode depends on the process's locale; ours must not.
BOOST_AUTO_TEST_CASE(the_locale_changes_nothing) {
  for (const auto* locale : {"C", "C.UTF-8"}) {
    BOOST_REQUIRE(std::setlocale(LC_ALL, locale) != nullptr);
    BOOST_TEST(stored("https://españa.es/") == "https://xn--espaa-rta.es/");
  }
  std::setlocale(LC_ALL, "C");
}

BOOST_AUTO_TEST_CASE(other_text_must_be_ascii) {
  for (const auto* url : {"https://example.com/á", "https://example.com/?q=ñ", "https://example.com/\u00A0",
                          "https://example.com?\u202E"}) {
    BOOST_TEST(rejected_saying(url, "ASCII"), url);
  }
}

BOOST_AUTO_TEST_CASE(the_final_dot_of_a_name_is_dropped) {
  BOOST_TEST(stored("https://example.com./x") == "https://example.com/x");
  BOOST_TEST(stored("https://example.com.:444") == "https://example.com:444");
}

BOOST_AUTO_TEST_CASE(an_overridden_host_is_accepted) {
  BOOST_TEST(dialled("https://a.receptor.test:8443/x", overrides) == "a.receptor.test:8443");
  BOOST_TEST(dialled("https://B.A.Receptor.TEST/", overrides) == "b.a.receptor.test:443");
  BOOST_TEST(dialled("https://buzon/", overrides) == "buzon:443");
  for (const auto* url :
       {"https://receptor.test/", "https://areceptor.test/", "https://otro/", "https://localhost/",
        "https://a.receptor.test@x.test/", "http://a.receptor.test/"}) {
    BOOST_TEST(!accepted(url, overrides), url);
  }
}

BOOST_AUTO_TEST_CASE(an_override_never_covers_an_address) {
  const std::vector<HostOverride> greedy{{"127.0.0.1", IpAddress::parse("127.0.0.1").value()},
                                         {"*.0.0.1", IpAddress::parse("127.0.0.1").value()},
                                         {"::1", IpAddress::parse("127.0.0.1").value()}};
  for (const auto* url : {"https://127.0.0.1/", "https://2130706433/", "https://[::1]/"}) {
    BOOST_TEST(!accepted(url, greedy), url);
  }
}

BOOST_AUTO_TEST_CASE(the_first_override_that_matches) {
  const std::vector<HostOverride> list{{"a.example.com", IpAddress::parse("10.0.0.1").value()},
                                       {"*.example.com", IpAddress::parse("10.0.0.2").value()}};
  BOOST_TEST(find_override("A.example.com", list) == &list[0]);
  BOOST_TEST(find_override("b.example.com", list) == &list[1]);
  BOOST_TEST(find_override("c.b.example.com", list) == &list[1]);
  BOOST_TEST(find_override("example.com", list) == nullptr);
  BOOST_TEST(find_override(".example.com", list) == nullptr);
  BOOST_TEST(find_override("", list) == nullptr);
}

// Ports that the Fetch standard blocks, and ports of databases and the like.
BOOST_AUTO_TEST_CASE(ports_of_other_protocols) {
  for (const auto* port : {"1",    "22",   "25",   "0025", "53",   "110",   "143",   "445",  "465",
                           "587",  "993",  "1433", "1521", "2049", "3306",  "3389",  "5060", "5432",
                           "6000", "6379", "6666", "6697", "9042", "10080", "11211", "27017"}) {
    BOOST_TEST(rejected_saying("https://example.com:" + std::string(port) + "/", "otro protocolo"), port);
    BOOST_TEST(rejected_saying("https://[2606:4700::1111]:" + std::string(port) + "/", "otro protocolo"),
               port);
    BOOST_TEST(rejected_saying("https://127.0.0.1:" + std::string(port) + "/", "privada"), port);
  }
  for (const auto* port : {"80", "443", "2443", "3000", "4443", "5000", "6001", "8000", "8080", "8443",
                           "9443", "10443", "32768", "33060", "50000", "65535"})
    BOOST_TEST(dialled("https://example.com:" + std::string(port) + "/") ==
               "example.com:" + std::string(port));
}

BOOST_AUTO_TEST_CASE(a_percent_sign_is_followed_by_two_digits) {
  for (const auto* tail : {"/%zz", "/%", "/%4", "/a%2", "/%4g", "/?%", "?a=%zz", "/%%20", "/%20%", "/%u00e1"})
    BOOST_TEST(rejected_saying("https://example.com" + std::string(tail), "dos cifras hexadecimales"), tail);
  for (const auto* tail : {"/%25", "/%c3%B1", "?%00", "/%20%20"})
    BOOST_TEST(dialled("https://example.com" + std::string(tail)) == "example.com:443");
}

BOOST_AUTO_TEST_CASE(what_requests_to_a_url_share_is_its_host_and_port) {
  BOOST_TEST(webhook::host_and_port("https://Entidad.example.org") == "entidad.example.org:443");
  BOOST_TEST(webhook::host_and_port("https://entidad.example.org/a:1?b#c") == "entidad.example.org:443");
  BOOST_TEST(webhook::host_and_port("https://entidad.example.org:8443/a") == "entidad.example.org:8443");
  BOOST_TEST(webhook::host_and_port("https://entidad.example.org?a") == "entidad.example.org:443");
  BOOST_TEST(webhook::host_and_port("https://[2001:db8::1]/") == "[2001:db8::1]:443");
  BOOST_TEST(webhook::host_and_port("https://[2001:db8::1]:8443/") == "[2001:db8::1]:8443");
}

// All spellings of one host and port must share one set of limits.
BOOST_AUTO_TEST_CASE(all_spellings_of_a_host_and_port_are_one_host) {
  for (const auto* url : {"https://example.org:443/", "https://example.org:0443/",
                          "https://example.org:000443", "https://EXAMPLE.org"}) {
    BOOST_TEST(dialled(url) == "example.org:443");
    BOOST_TEST(webhook::host_and_port(url) == "example.org:443");
  }
  for (const auto* host :
       {"[2606:4700::1111]", "[2606:4700:0::1111]", "[2606:4700:0:0:0:0:0:1111]", "[2606:4700::0.0.17.17]"}) {
    const auto url = "https://" + std::string(host) + ":08443/";
    BOOST_TEST(dialled(url) == "2606:4700::1111:8443");
    BOOST_TEST(webhook::host_and_port(url) == "[2606:4700::1111]:8443");
  }
}

BOOST_AUTO_TEST_CASE(spellings_of_one_target_compare_equal) {
  const auto same = [](std::string_view one, std::string_view other) {
    return webhook::comparable_url(one) == webhook::comparable_url(other);
  };
  const std::string_view url = "https://hooks.example.com/avisos/uno?clave=a%20b";
  for (const std::string_view other : {"https://HOOKS.example.com/avisos/uno?clave=a%20b",
                                       "https://hooks.example.com:443/avisos/uno?clave=a%20b",
                                       "https://hooks.example.com:0443/avisos/uno?clave=a%20b",
                                       "https://hooks.example.com./avisos/uno?clave=a%20b",
                                       "https://hooks.example.com/%61visos/un%6f?clave=a%20b",
                                       "https://hooks.example.com/%61visos%2Funo?clave=a%20b",
                                       "https://hooks.example.com//avisos/./uno?clave=a%20b",
                                       "https://hooks.example.com/x/../avisos/uno?clave=a%20b",
                                       "https://hooks.example.com/x/%2e%2E/avisos/uno?clave=a%20b",
                                       "https://hooks.example.com/../avisos/uno?clave=a%20b",
                                       "https://hooks.example.com/avisos/uno?%63lave=a%20b"})
    BOOST_TEST(same(url, other), other);
  for (const std::string_view other :
       {"https://hooks.example.com/avisos/Uno?clave=a%20b",
        "https://hooks.example.com:8443/avisos/uno?clave=a%20b",
        "https://hooks.example.com/avisos/uno/?clave=a%20b",
        "https://hooks.example.com/avisos/uno?clave=a%26b", "https://hooks.example.com/avisos/uno",
        "https://a.hooks.example.com/avisos/uno?clave=a%20b",
        "https://hooks.example.com/avisos/uno%3Fclave=a%20b"})
    BOOST_TEST(!same(url, other), other);
  BOOST_TEST(same("https://hooks.example.com", "https://hooks.example.com/?"));
  BOOST_TEST(same("https://hooks.example.com/a/", "https://hooks.example.com/a/b/.."));
  BOOST_TEST(same("https://hooks.example.com/%c3%a1", "https://hooks.example.com/%C3%A1"));
  BOOST_TEST(!same("https://hooks.example.com/%c3%a1", "https://hooks.example.com/%C3%A0"));
  BOOST_TEST(same("https://[2001:DB8::1]/", "https://[2001:db8:0::1]:443"));
  BOOST_TEST(!same("https://hooks.example.com/%", "https://hooks.example.com/%2"));
  BOOST_TEST(!same("https://hooks.example.com/%2541", "https://hooks.example.com/A"));
}

BOOST_AUTO_TEST_SUITE_END()
