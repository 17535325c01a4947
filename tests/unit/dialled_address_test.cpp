// Compares the address policy with libcurl: no URL that the policy accepts may make libcurl connect to an
// address that is not public. The URLs are generated. Nothing leaves the machine: the test tells libcurl the
// address of each name, forbids lookups, and opens no socket. A failure shows the seed of the URLs; TEST_SEED
// sets the seed.
#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "lib/text/text.hpp"
#include "lib/webhook/target_url.hpp"
#include "tests/unit/url_generator.hpp"

using platform::IpAddress;
using webhook::TargetUrl;

namespace {

struct Dialled {
  IpAddress address;
  std::uint16_t port;
};

curl_socket_t record(void* data, curlsocktype /*purpose*/, curl_sockaddr* candidate) {
  const sockaddr* address = &candidate->addr;
  // sin6_port has the same offset as sin_port.
  const auto port = ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
  static_cast<std::vector<Dialled>*>(data)->push_back({IpAddress::from_sockaddr(address).value(), port});
  return CURL_SOCKET_BAD;
}

int allow_lookup(void* /*resolver*/, void* /*reserved*/, void* is_literal) {
  return *static_cast<const bool*>(is_literal) ? 0 : 1;
}

std::string part(CURLU* url, CURLUPart what, unsigned flags) {
  char* text = nullptr;
  const bool found = curl_url_get(url, what, &text, flags) == CURLUE_OK;
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return found ? text : "";
}

bool is_literal(const std::string& host) {
  return host.starts_with('[') || IpAddress::parse(host).has_value();
}

/// Returns the address to which the test makes libcurl resolve a host. Like getaddrinfo, it reads every old
/// notation of IPv4. A name without a dot or in a private domain gets 127.0.0.1, any other name a public
/// address.
std::string resolved(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  name = text::lower(name);
  in_addr v4{};
  if (::inet_aton(name.c_str(), &v4) != 0) {
    IpAddress address;
    std::memcpy(address.bytes.data(), &v4, 4);
    return address.to_string();
  }
  bool is_local = name.find('.') == std::string::npos;
  for (const auto* domain :
       {".localhost", ".localdomain", ".localdomain4", ".localdomain6", ".local", ".internal", ".intranet",
        ".lan",       ".home",        ".corp",         ".private",      ".priv",  ".dmz",      ".svc",
        ".cluster",   ".consul",      ".docker",       ".arpa",         ".test",  ".invalid",  ".onion"}) {
    is_local |= ("." + name).ends_with(domain);
  }
  return is_local ? "127.0.0.1" : "8.8.4.4";
}

using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

List resolution(const std::string& host, const std::string& port) {
  return {curl_slist_append(nullptr, (host + ":" + port + ":" + resolved(host)).c_str()),
          curl_slist_free_all};
}

/// Returns every address and port that libcurl would connect to for the URL if https alone is allowed.
std::vector<Dialled> dialled_for(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  const std::string host = part(parsed.get(), CURLUPART_HOST, 0);
  const bool literal = is_literal(host);
  const List names = resolution(host, part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
  std::vector<Dialled> addresses;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  if (!literal) curl_easy_setopt(curl.get(), CURLOPT_RESOLVE, names.get());
  curl_easy_setopt(curl.get(), CURLOPT_RESOLVER_START_FUNCTION, &allow_lookup);
  curl_easy_setopt(curl.get(), CURLOPT_RESOLVER_START_DATA, &literal);
  curl_easy_setopt(curl.get(), CURLOPT_OPENSOCKETFUNCTION, &record);
  curl_easy_setopt(curl.get(), CURLOPT_OPENSOCKETDATA, &addresses);
  BOOST_TEST(curl_easy_perform(curl.get()) != CURLE_OK);
  return addresses;
}

std::optional<TargetUrl> accepted(const std::string& url) {
  auto verdict = webhook::judge_target_url(url, {});
  if (auto* target = std::get_if<TargetUrl>(&verdict)) return std::move(*target);
  return std::nullopt;
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c < 0x80 && c != 0; });
}

void check_accepted(const TargetUrl& target) {
  BOOST_TEST(is_ascii(target.text));
  const auto again = accepted(target.text);
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST(again->text == target.text);
  BOOST_TEST(again->host == target.host);
  BOOST_TEST(again->port == target.port);
  const auto dialled = dialled_for(target.text);
  BOOST_REQUIRE(dialled.size() == 1U);
  BOOST_TEST(is_public_by_the_registries(dialled[0].address));
  BOOST_TEST(dialled[0].port == target.port);
  const auto address = IpAddress::parse(target.host);
  BOOST_TEST((!address || *address == dialled[0].address));
}

struct Tally {
  int accepted = 0;
  int private_refused = 0;
};

void check(const GeneratedUrl& url, Tally& tally) {
  const auto target = accepted(url.text);
  if (url.plain) BOOST_TEST(target.has_value() == (url.usual && is_public_by_the_registries(*url.plain)));
  if (target) {
    ++tally.accepted;
    check_accepted(*target);
  }
  // Our programs give libcurl only ASCII, because the locale decides how libcurl reads other text.
  if (!is_ascii(url.text)) return;
  const auto dialled = dialled_for(url.text);
  if (std::ranges::all_of(dialled, is_public_by_the_registries, &Dialled::address)) return;
  BOOST_TEST(!target.has_value());
  ++tally.private_refused;
}

std::uint64_t chosen_seed() {
  const char* given = std::getenv("TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dialled_address)

BOOST_AUTO_TEST_CASE(nothing_accepted_dials_an_address_that_is_not_public) {
  constexpr int urls = 5'000;  // they take half a second in all
  const auto seed = chosen_seed();
  BOOST_TEST_MESSAGE("TEST_SEED=" << seed);
  UrlGenerator generator(seed);
  Tally tally;
  for (int count = 0; count < urls; ++count) {
    const GeneratedUrl url = generator.next();
    BOOST_TEST_CONTEXT("TEST_SEED=" << seed << ", URL " << count << ": " << url.text) { check(url, tally); }
  }
  // If few URLs were accepted, or few led to a private address, the test has shown nothing.
  BOOST_TEST(tally.accepted > urls / 10);
  BOOST_TEST(tally.private_refused > urls / 10);
}

BOOST_AUTO_TEST_SUITE_END()
