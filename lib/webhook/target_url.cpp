#include "lib/webhook/target_url.hpp"

#include <curl/curl.h>
#include <idn2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <new>
#include <optional>

#include "lib/text/text.hpp"
#include "lib/text/utf8.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/refused_ports.hpp"

namespace webhook {

namespace {

using config::HostOverride;
using platform::IpAddress;
using text::is_digit;
using text::lower;

constexpr std::string_view scheme = "https://";
constexpr std::string_view host_end = "/?#";

// The messages to the entity. Each says what the entity must change, so faults that need the same change have
// the same message.
constexpr const char* empty_url =
    "url: no puede estar vacía; indique la dirección https:// que recibirá los avisos";
constexpr const char* not_https = "url: debe empezar por https://, en minúsculas";
constexpr const char* too_long = "url: no puede pasar de 2000 caracteres";
constexpr const char* too_long_stored =
    "url: no puede pasar de 2000 caracteres, con el nombre de host en punycode";
constexpr const char* bad_characters =
    "url: no puede llevar espacios, caracteres de control ni barras invertidas; codifíquelos con % (un "
    "espacio es %20)";
constexpr const char* not_ascii =
    "url: fuera del nombre de host sólo admite caracteres ASCII; codifique los demás con % (á es %C3%A1)";
constexpr const char* fragment = "url: no puede llevar fragmento (#…), porque nunca se envía; quítelo";
constexpr const char* credentials =
    "url: no puede llevar usuario ni contraseña; use secreto para verificar los avisos";
constexpr const char* bad_host =
    "url: el nombre de host no es válido; escriba un nombre de dominio público completo";
constexpr const char* bad_ipv4 =
    "url: un host que acaba en un número se toma por una dirección IPv4; escríbala como cuatro números "
    "decimales de 0 a 255, sin ceros a la izquierda, o use un nombre de dominio público";
constexpr const char* bad_port = "url: el puerto debe ser un número de 1 a 65535";
constexpr const char* refused_port =
    "url: el puerto es de otro protocolo (correo, bases de datos…) y no se admite; use el 443, u otro";
constexpr const char* bad_encoding =
    "url: tras cada % debe haber dos cifras hexadecimales; si es el propio carácter, escriba %25";
constexpr const char* not_public =
    "url: no puede apuntar a una dirección local, privada o reservada; use un nombre de dominio público";
static_assert(max_url_characters == 2000, "two messages say it");

/// The exception of a refused URL; judge_target_url() catches it.
struct Rejected {
  const char* message;
};

void require(bool condition, const char* message) {
  if (!condition) throw Rejected{message};
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}
bool is_unwelcome(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '\\'; }

/// Whether every `%` begins an escape (RFC 3986 section 2.1).
bool is_percent_encoded(std::string_view text) {
  const auto is_hex = [&](std::size_t at) {
    return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  for (auto at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (!is_hex(at + 1) || !is_hex(at + 2)) return false;
  return true;
}

/// The parts of a URL, divided as in RFC 3986.
struct Parts {
  std::string host;  // with brackets, if any; as written
  std::string port;  // with its colon; empty when there is none
  std::string tail;  // path and query
};

/// The host as DNS spells it. Unicode digits, dots and letter forms that stand for ASCII become ASCII.
/// libidn2 reads UTF-8 in any locale; libcurl's own conversion depends on the locale.
std::string to_punycode(const std::string& host) {
  if (is_ascii(host) || host.starts_with('[')) return host;
  char* output = nullptr;
  const int result = idn2_to_ascii_8z(host.c_str(), &output, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
  const std::unique_ptr<char, decltype(&idn2_free)> owner(output, idn2_free);
  require(result == IDN2_OK, bad_host);
  return owner.get();
}

void require_length(std::string_view url, const char* message) {
  const auto characters = text::count_characters(url);
  require(characters.has_value(), bad_characters);
  require(*characters <= max_url_characters, message);
}

Parts split(std::string_view url) {
  const std::string_view rest = url.substr(scheme.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of(host_end));
  const std::string_view tail = rest.substr(authority.size());
  require(std::none_of(rest.begin(), rest.end(), is_unwelcome), bad_characters);
  require(is_ascii(tail), not_ascii);
  require(tail.find('#') == std::string_view::npos, fragment);
  require(is_percent_encoded(tail), bad_encoding);
  require(authority.find('@') == std::string_view::npos, credentials);
  const auto bracket = authority.find(']');
  const auto colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = authority.substr(0, colon);
  return {std::string(host), std::string(authority.substr(host.size())), std::string(tail)};
}

void require_port(std::string_view port) {
  if (port.empty()) return;
  const std::string_view digits = port.substr(1);
  require(!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit), bad_port);
}

/// The host and port that libcurl will dial for a URL.
struct Dialled {
  std::string host;  // brackets kept
  std::uint16_t port;
};

std::string part(CURLU* url, CURLUPart what, unsigned flags) {
  char* text = nullptr;
  const CURLUcode code = curl_url_get(url, what, &text, flags);
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  require(code == CURLUE_OK, bad_host);
  return owner.get();
}

Dialled dialled(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (!parsed) throw std::bad_alloc();
  const CURLUcode code = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
  require(code != CURLUE_BAD_PORT_NUMBER, bad_port);
  require(code == CURLUE_OK, bad_host);
  const std::string port = part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  Dialled result{part(parsed.get(), CURLUPART_HOST, 0), text::parse_number<std::uint16_t>(port).value_or(0)};
  require(result.port != 0, bad_port);
  return result;
}

std::vector<std::string_view> labels_of(std::string_view name) {
  std::vector<std::string_view> labels;
  for (;;) {
    const auto dot = name.find('.');
    labels.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return labels;
    name.remove_prefix(dot + 1);
  }
}

/// Whether the text may be a label of a DNS name. Accepts underscores, because some names have them. Refuses
/// a hyphen at either end: no certificate has one there, and CURLOPT_RESOLVE reads a leading hyphen as
/// 'remove this entry'.
bool is_label(std::string_view label) {
  constexpr std::size_t longest = 63;  // RFC 1035 section 2.3.4
  if (label.empty() || label.size() > longest || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(),
                     [](char c) { return text::is_letter(c) || is_digit(c) || c == '-' || c == '_'; });
}

/// Whether the host consists of labels. Such a host contains no `%`, which libcurl would decode, and no
/// colon, at which libcurl would cut the host.
bool is_name(std::string_view host) {
  constexpr std::size_t longest = 253;
  const auto labels = labels_of(host);
  return host.size() <= longest && std::all_of(labels.begin(), labels.end(), is_label);
}

/// Whether a parser may take the host for an IPv4 address, because its last label is all digits or begins
/// with `0x` (https://url.spec.whatwg.org/, "ends in a number"). No real domain ends in such a label.
bool ends_in_number(std::string_view host) {
  const std::string last = lower(labels_of(host).back());
  return std::all_of(last.begin(), last.end(), is_digit) || last.starts_with("0x");
}

/// Whether the name has no dot, or belongs to a domain that is customary in private networks or reserved. The
/// reserved domains are those of RFC 6762, 7686 and 8375, and those of RFC 6761 except its example domains.
bool is_private_name(std::string_view name) {
  constexpr auto private_domains = std::to_array<std::string_view>(
      {".localhost", ".local",  ".localdomain", ".localdomain4", ".localdomain6", ".internal", ".intranet",
       ".lan",       ".home",   ".corp",        ".priv",         ".private",      ".dmz",      ".svc",
       ".cluster",   ".consul", ".docker",      ".arpa",         ".test",         ".invalid",  ".onion"});
  const std::string dotted = std::string(".").append(name);
  return name.find('.') == std::string_view::npos ||
         std::any_of(private_domains.begin(), private_domains.end(),
                     [&dotted](std::string_view domain) { return dotted.ends_with(domain); });
}

/// The address between the brackets of an IPv6 host; nullopt for any other text.
std::optional<IpAddress> bracketed_address(std::string_view host) {
  if (!host.starts_with('[') || !host.ends_with(']')) return std::nullopt;
  return IpAddress::parse(host.substr(1, host.size() - 2));
}

/// The host's address; nullopt for a name. Rejects unusual spellings of IPv4, which are ambiguous: some
/// parsers take 010.8.8.8 for 8.8.8.8 and others for 10.8.8.8, and libcurl's reading depends on its version
/// (7.88 reads 0X7F.1 as an address, 8.14 reads it as a name).
std::optional<IpAddress> written_address(const std::string& host) {
  if (auto v6 = bracketed_address(host)) return v6;
  require(is_name(host), bad_host);
  if (!ends_in_number(host)) return std::nullopt;
  auto v4 = IpAddress::parse(host);
  require(v4.has_value(), bad_ipv4);
  return v4;
}

/// Compares our reading of the host with libcurl's, and refuses what must not be dialled. Returns the host
/// without brackets.
std::string judge_host(const std::string& written, const std::optional<IpAddress>& address,
                       const std::string& dialled, const std::vector<HostOverride>& overrides) {
  if (address) {
    require((address->v6 ? bracketed_address(dialled) : IpAddress::parse(dialled)) == address, bad_host);
    require(is_public_address(*address), not_public);
    return address->to_string();
  }
  std::string name = lower(dialled);
  require(text::equal_ignoring_case(written, name), bad_host);
  require(find_override(name, overrides) != nullptr || !is_private_name(name), not_public);
  return name;
}

TargetUrl judge(std::string_view url, const std::vector<HostOverride>& overrides) {
  require(!url.empty(), empty_url);
  require(url.starts_with(scheme), not_https);
  require_length(url, too_long);
  Parts parts = split(url);
  require_port(parts.port);
  parts.host = to_punycode(parts.host);
  // A host with the root's trailing dot is the same host; later comparisons expect no dot.
  if (parts.host.ends_with('.')) parts.host.pop_back();
  const auto address = written_address(parts.host);
  const std::string text = std::string(scheme) + parts.host + parts.port + parts.tail;
  require_length(text, too_long_stored);
  const Dialled dial = dialled(text);
  auto host = judge_host(parts.host, address, dial.host, overrides);
  require(!is_refused_port(dial.port), refused_port);
  return {text, std::move(host), dial.port};
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char letter = static_cast<char>(c | 0x20);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

bool is_unreserved(char c) {
  return text::is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}
/// Whether an escape in a path compares as equal to its character. An escaped `/` does, because servers
/// commonly treat %2F as `/`. Decoding one of the excluded characters would change the path's meaning.
bool is_plain_in_path(char c) {
  return c > ' ' && c < '\x7f' && c != '?' && c != '#' && c != '%' && c != '\\';
}

/// Decodes the escapes of characters for which `stands_for_itself` is true, and writes the digits of the
/// other escapes in upper case.
std::string decode(std::string_view text, bool (*stands_for_itself)(char)) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int high = text[at] == '%' && at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[at + 2]) : -1;
    if (low < 0) {
      result += text[at];
      continue;
    }
    const char decoded = static_cast<char>(high * 16 + low);
    if (stands_for_itself(decoded))
      result += decoded;
    else
      (result += '%').append({digits[static_cast<std::size_t>(high)], digits[static_cast<std::size_t>(low)]});
    at += 2;
  }
  return result;
}

/// The path, decoded where is_plain_in_path allows it, without dot segments and empty segments.
std::string plain_path(std::string_view path) {
  const std::string decoded = decode(path, is_plain_in_path);
  std::vector<std::string_view> segments;
  bool ends_in_slash = true;
  for (std::string_view rest = decoded; !rest.empty();) {
    const auto end = std::min(rest.find('/'), rest.size());
    const auto segment = rest.substr(0, end);
    ends_in_slash = end < rest.size() || segment.empty() || segment == "." || segment == "..";
    if (segment == ".." && !segments.empty()) segments.pop_back();
    if (!segment.empty() && segment != "." && segment != "..") segments.push_back(segment);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string result;
  for (const auto segment : segments) result.append("/").append(segment);
  return ends_in_slash || result.empty() ? result + '/' : result;
}

}  // namespace

std::variant<TargetUrl, UrlRejection> judge_target_url(std::string_view url,
                                                       const std::vector<HostOverride>& overrides) try {
  return judge(url, overrides);
} catch (const Rejected& rejected) {
  return UrlRejection{rejected.message};
}

const HostOverride* find_override(std::string_view host, const std::vector<HostOverride>& overrides) {
  const auto covers = [host](const HostOverride& override) { return host_matches(override.pattern, host); };
  const auto found = std::find_if(overrides.begin(), overrides.end(), covers);
  return found == overrides.end() ? nullptr : &*found;
}

std::string_view host_name(std::string_view host_and_port) {
  auto host = host_and_port.substr(0, host_and_port.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

std::string host_and_port(std::string_view stored_url) {
  if (const auto scheme = stored_url.find("://"); scheme != std::string_view::npos)
    stored_url.remove_prefix(scheme + 3);
  const auto authority = text::lower(stored_url.substr(0, stored_url.find_first_of("/?#")));
  const auto address_end = authority.rfind(']');  // of an IPv6 address
  const auto colon = authority.find(':', address_end == std::string::npos ? 0 : address_end);
  auto host = authority.substr(0, colon);
  if (const auto address = bracketed_address(host)) host = '[' + address->to_string() + ']';
  if (colon == std::string::npos) return host + ":443";
  const auto port = text::parse_number<std::uint16_t>(std::string_view(authority).substr(colon + 1));
  return port ? host + ':' + std::to_string(*port) : host + authority.substr(colon);
}

std::string comparable_host(std::string_view stored_url) {
  const auto authority = host_and_port(stored_url);
  auto host = std::string(host_name(authority));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

std::string comparable_url(std::string_view stored_url) {
  const auto authority = host_and_port(stored_url);
  const auto port = text::parse_number<std::uint32_t>(authority.substr(authority.rfind(':') + 1)).value_or(0);
  std::string_view tail = stored_url;
  if (tail.starts_with(scheme)) tail.remove_prefix(scheme.size());
  tail.remove_prefix(std::min(tail.find_first_of(host_end), tail.size()));
  const auto query = std::min(tail.find('?'), tail.size());
  auto result =
      comparable_host(stored_url) + ' ' + std::to_string(port) + ' ' + plain_path(tail.substr(0, query));
  if (query + 1 < tail.size()) result += '?' + decode(tail.substr(query + 1), is_unreserved);
  return result;
}

}  // namespace webhook
