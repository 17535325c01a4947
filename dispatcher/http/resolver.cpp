#include "dispatcher/http/resolver.hpp"

#include <ares.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dispatcher/http/local_fault.hpp"

namespace dispatcher {

namespace {

using platform::Milliseconds;
using platform::MonotonicTime;

/// A round of questions to each server. The first round uses EDNS, so that answers of more than 512 bytes
/// need no TCP. If that brings no definite result, the second round asks without EDNS, because some servers
/// and firewalls drop questions with EDNS. For the second try of a round, c-ares doubles the wait.
struct Round {
  bool edns;
  int tries;
  int wait;  // for the first try, in fifths of the lookup's patience
};
constexpr std::array rounds{Round{true, 2, 1}, Round{false, 1, 2}};
constexpr int fifths = 5;
constexpr int edns_bytes = 1232;  // passes every link in one piece (DNS flag day 2020)

void require(int code) {
  if (code != ARES_SUCCESS) throw std::runtime_error(std::string("c-ares: ") + ares_strerror(code));
}

/// Initialises c-ares, once in a process. Throws std::runtime_error.
void initialise() {
  static const int code = ares_library_init(ARES_LIB_INIT_ALL);
  require(code);
}

/// Most bytes that a TCP connection to a server may bring. An answer over TCP can have 64 KB, and c-ares
/// takes 50 ms for 6,000 addresses, because it asks the kernel for the route to each address.
constexpr std::uint64_t longest_answers = 8192;

/// True: more than longest_answers has come at this socket. Always false for UDP.
bool has_too_much(int fd) {
  tcp_info facts{};
  socklen_t size = sizeof facts;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &facts, &size) == 0 &&
         facts.tcpi_bytes_received > longest_answers;
}

struct ChannelDeleter {
  void operator()(ares_channel channel) const { ares_destroy(channel); }
};
using ChannelHandle = std::unique_ptr<std::remove_pointer_t<ares_channel>, ChannelDeleter>;

/// Opens a channel that asks the servers of /etc/resolv.conf, which it reads now. `wait`: how long to
/// wait for a server at the first try, in milliseconds. `watch` is told which sockets to poll; `calls` are
/// made in place of the system's. Throws std::runtime_error.
ChannelHandle open_channel(const Round& round, std::int64_t wait, ares_sock_state_cb watch,
                           const ares_socket_functions& calls, void* watcher) {
  std::array<char, 2> dns{"b"};
  ares_options options{};
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | (round.edns ? ARES_FLAG_EDNS : 0);
  options.ednspsz = edns_bytes;
  options.timeout = static_cast<int>(std::max<std::int64_t>(wait, 1));
  options.tries = round.tries;
  options.ndomains = 0;  // a receiver's name must never be completed with a domain of our own network
  options.lookups = dns.data();
  options.sock_state_cb = watch;
  options.sock_state_cb_data = watcher;
  int given = ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
              ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_MAXTIMEOUTMS
  // From 1.31 on c-ares waits for a server five times as long as the server's recent answers took, up to
  // maxtimeout (5 s by default).
  options.maxtimeout = options.timeout * round.tries;
  given |= ARES_OPT_MAXTIMEOUTMS;
#endif
#ifdef ARES_OPT_QUERY_CACHE
  // From 1.31 on c-ares keeps answers, even failures, for up to an hour.
  options.qcache_max_ttl = 0;
  given |= ARES_OPT_QUERY_CACHE;
#endif
#ifdef ARES_OPT_UDP_MAX_QUERIES
  // From 1.20 on a malformed answer fails all questions of its socket, so each question gets its own
  // socket.
  options.udp_max_queries = 1;
  given |= ARES_OPT_UDP_MAX_QUERIES;
#endif
  ares_channel channel = nullptr;
  require(ares_init_options(&channel, &options, given));
// c-ares 1.34 deprecates this function for one that Debian 12 lacks.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  ares_set_socket_functions(channel, &calls, watcher);
#pragma GCC diagnostic pop
  return ChannelHandle(channel);
}

/// Opens a channel that only reads /etc/hosts. Throws std::runtime_error.
ChannelHandle open_hosts_channel() {
  std::array<char, 2> files{"f"};
  ares_options options{};
  options.flags = ARES_FLAG_NOSEARCH;
  options.lookups = files.data();
  ares_channel channel = nullptr;
  require(ares_init_options(&channel, &options, ARES_OPT_FLAGS | ARES_OPT_LOOKUPS));
  return ChannelHandle(channel);
}

ares_addrinfo_hints any_address() {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  return hints;
}

/// Changes whenever the file changes; is constant while the file cannot be found.
using FileVersion = std::array<std::int64_t, 3>;
FileVersion version_of(const char* path) {
  struct stat file {};
  if (::stat(path, &file) != 0) return {};
  return {static_cast<std::int64_t>(file.st_ino), file.st_ctim.tv_sec, file.st_ctim.tv_nsec};
}

int count_servers(ares_channel channel) {
  int count = 0;
#if ARES_VERSION >= 0x011800  // 1.24, which deprecates ares_get_servers_ports
  const std::unique_ptr<char, decltype(&ares_free_string)> servers(ares_get_servers_csv(channel),
                                                                   ares_free_string);
  const std::string_view list = servers ? servers.get() : "";
  if (!list.empty()) count = 1 + static_cast<int>(std::ranges::count(list, ','));
#else
  ares_addr_port_node* servers = nullptr;
  require(ares_get_servers_ports(channel, &servers));
  const std::unique_ptr<ares_addr_port_node, decltype(&ares_free_data)> owner(servers, ares_free_data);
  for (const auto* server = servers; server != nullptr; server = server->next) ++count;
#endif
  return std::max(count, 1);
}

/// The addresses of the answer, IPv4 and IPv6 in turns, beginning with the family of the answer's first
/// address (RFC 8305 section 4): so neither family takes all of max_addresses.
Addresses addresses_of(const ares_addrinfo& answer) {
  std::array<Addresses, 2> families;
  std::optional<bool> first;
  for (const auto* node = answer.nodes; node != nullptr; node = node->ai_next) {
    const auto address = platform::IpAddress::from_sockaddr(node->ai_addr);
    if (!address) continue;
    if (!first) first = address->v6;
    families[address->v6 == *first ? 0 : 1].push_back(*address);
  }
  Addresses result;
  for (std::size_t i = 0; result.size() < Resolver::max_addresses; ++i) {
    if (i >= families[0].size() && i >= families[1].size()) break;
    for (const auto& family : families) {
      if (i < family.size() && result.size() < Resolver::max_addresses) result.push_back(family[i]);
    }
  }
  return result;
}

Resolution::Servers servers_of(int status) {
  using enum Resolution::Servers;
  switch (status) {
    case ARES_SUCCESS:
      return answered;
    case ARES_ENOTFOUND:  // a broken server may say so of every name
    case ARES_ENODATA:
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ENOTIMP:
      return silent;
    default:  // not asked, or an unreadable answer, which the owner of the name may have caused
      return nothing;
  }
}

/// How long the answer may be kept.
Milliseconds life_of(const ares_addrinfo& answer) {
  std::int64_t seconds = Resolver::longest_life.count() / 1000;
  for (const auto* node = answer.nodes; node != nullptr; node = node->ai_next)
    seconds = std::min<std::int64_t>(seconds, node->ai_ttl);
  for (const auto* alias = answer.cnames; alias != nullptr; alias = alias->next)
    seconds = std::min<std::int64_t>(seconds, alias->ttl);
  return std::max<Milliseconds>(std::chrono::seconds(seconds), Resolver::shortest_life);
}

/// True: the channel has stopped using EDNS. After a FORMERR of a server, c-ares 1.18 stops using EDNS, and
/// takes a second FORMERR (for the other family) as the final result.
bool has_given_up_edns(ares_channel channel) {
  ares_options options{};
  int given = 0;
  if (channel == nullptr || ares_save_options(channel, &options, &given) != ARES_SUCCESS) return false;
  const bool given_up = (options.flags & ARES_FLAG_EDNS) == 0;
  ares_destroy_options(&options);
  return given_up;
}

struct AnswerDeleter {
  void operator()(ares_addrinfo* answer) const { ares_freeaddrinfo(answer); }
};
using Answer = std::unique_ptr<ares_addrinfo, AnswerDeleter>;

/// Looks names up in /etc/hosts. One channel serves many lookups, because c-ares 1.34 reads the whole file
/// for each channel: 14 ms for 10,000 lines.
class Hosts {
 public:
  /// nullptr: the file does not have the name.
  Answer find(const std::string& name) {
    Answer answer;
    const auto version = version_of("/etc/hosts");
    try {
      // c-ares misses a change that leaves the file with an older time.
      if (!channel_ || version != version_) channel_ = open_hosts_channel();
    } catch (const std::exception&) {
      return answer;
    }
    version_ = version;
    const auto hints = any_address();
    ares_getaddrinfo(channel_.get(), name.c_str(), nullptr, &hints, &keep, &answer);
    return answer;
  }

 private:
  static void keep(void* answer, int status, int /*timeouts*/, ares_addrinfo* result) {
    Answer found(result);
    if (status == ARES_SUCCESS) *static_cast<Answer*>(answer) = std::move(found);
  }

  ChannelHandle channel_;
  FileVersion version_{};  // of the file that the channel reads
};

}  // namespace

/// Each lookup has its own channel, so that lookups do not disturb each other. For example, when a server
/// closes a TCP connection, each question on the channel loses a try.
class Resolver::Impl {
 public:
  Impl(Milliseconds patience, Poller& poller) : patience_(patience), poller_(poller) { initialise(); }
  ~Impl() {
    for (auto& [name, lookup] : under_way_) lookup.channel.reset();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Addresses* cached(const std::string& name, MonotonicTime now) const {
    const auto found = cache_.find(name);
    return found != cache_.end() && now < found->second.expires ? &found->second.addresses : nullptr;
  }

  void look_up(const std::string& name) {
    const auto [found, inserted] = under_way_.try_emplace(name);
    if (!inserted) return;
    auto& lookup = found->second;
    lookup.owner = this;
    lookup.resolution.name = name;
    if (const auto answer = hosts_.find(name)) {
      lookup.resolution.addresses = addresses_of(*answer);
      finish(lookup);
      return;
    }
    ask(lookup);
    finish_ended();
  }

  std::optional<MonotonicTime> next_timeout() const {
    if (!finished_.empty()) return MonotonicTime{};
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
  }

  bool process(const Poller::Event& event) {
    const auto found = by_socket_.find(event.fd);
    if (found == by_socket_.end()) return false;
    auto& lookup = *found->second;
    if (has_too_much(event.fd)) {
      ares_cancel(lookup.channel.get());
    } else {
      ares_process_fd(lookup.channel.get(), event.read || event.error ? event.fd : ARES_SOCKET_BAD,
                      event.write ? event.fd : ARES_SOCKET_BAD);
    }
    schedule(lookup);
    finish_ended();
    return true;
  }

  std::vector<Resolution> take_ended() {
    process_overdue();
    return std::exchange(finished_, {});
  }

 private:
  /// Must not move, because c-ares holds pointers to it.
  struct Lookup {
    Impl* owner = nullptr;
    std::size_t round = 0;  // the next round
    Resolution resolution;
    bool asked = false;     // a question was sent, and its socket is watched
    bool definite = false;  // another round would not help
    Milliseconds life = shortest_life;
    std::optional<MonotonicTime> due;  // the lookup's key in due_
    ChannelHandle channel;
  };
  struct Cached {
    Addresses addresses;
    MonotonicTime expires;
  };

  void process_overdue() {
    while (!due_.empty() && due_.begin()->first <= poller_.read_until()) {
      auto& lookup = *due_.begin()->second;
      ares_process_fd(lookup.channel.get(), ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      schedule(lookup);
      finish_ended();
    }
  }

  /// Begins the next round.
  void ask(Lookup& lookup) {
    const auto& round = rounds.at(lookup.round++);
    const auto wait = patience_.count() * round.wait / fifths;
    try {
      lookup.channel = open_channel(round, wait, &watch, calls, &lookup);
      // Several servers share the wait, so that the round takes no longer.
      if (const int servers = count_servers(lookup.channel.get()); servers > 1)
        lookup.channel = open_channel(round, wait / servers, &watch, calls, &lookup);
    } catch (const std::exception&) {
      end_unasked(lookup, LocalFault::other);
      return;
    }
    const auto hints = any_address();
    ares_getaddrinfo(lookup.channel.get(), lookup.resolution.name.c_str(), nullptr, &hints, &end, &lookup);
    schedule(lookup);
  }

  static void watch(void* data, ares_socket_t fd, int readable, int writable) {
    auto& lookup = *static_cast<Lookup*>(data);
    auto& self = *lookup.owner;
    if (readable == 0 && writable == 0) {
      self.by_socket_.erase(fd);
      self.poller_.forget(fd);
      return;
    }
    try {
      self.poller_.watch(fd, readable != 0, writable != 0);
      self.by_socket_[fd] = &lookup;
    } catch (const std::exception&) {  // no memory: the socket is not watched, and the question times out
      lookup.resolution.fault = LocalFault::other;
    }
  }

  // c-ares makes its system calls with these functions. It reports each failure as a refusal by the server.

  template <class T>
  static T checked(Lookup& lookup, T result, LocalFault (*fault)(int)) {
    if (result < 0 && errno != EINPROGRESS && errno != EAGAIN) {
      if (const auto found = fault(errno); found != LocalFault::none) lookup.resolution.fault = found;
    }
    return result;
  }
  static ares_socket_t open(int family, int type, int protocol, void* lookup) {
    return checked(of(lookup), ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol),
                   &fault_of_socket);
  }
  static int close(ares_socket_t fd, void* /*lookup*/) { return ::close(fd); }
  static int connect(ares_socket_t fd, const sockaddr* to, ares_socklen_t size, void* lookup) {
    return checked(of(lookup), ::connect(fd, to, size), &fault_of);
  }
  static ares_ssize_t receive(ares_socket_t fd, void* bytes, std::size_t size, int flags, sockaddr* from,
                              ares_socklen_t* length, void* /*lookup*/) {
    return ::recvfrom(fd, bytes, size, flags, from, length);
  }
  static ares_ssize_t send(ares_socket_t fd, const iovec* parts, int count, void* data) {
    auto& lookup = of(data);
    const auto sent = checked(lookup, ::writev(fd, parts, count), &fault_of);
    if (sent >= 0 && lookup.owner->by_socket_.contains(fd)) lookup.asked = true;
    return sent;
  }
  static constexpr ares_socket_functions calls{&open, &close, &connect, &receive, &send};
  static Lookup& of(void* lookup) { return *static_cast<Lookup*>(lookup); }

  void end_unasked(Lookup& lookup, LocalFault fault) {
    lookup.resolution.servers = Resolution::Servers::not_asked;
    lookup.resolution.fault = fault;
    lookup.definite = true;
    ended_.push_back(&lookup);
  }

  /// Called within c-ares, where the channel must not be destroyed.
  static void end(void* data, int status, int /*timeouts*/, ares_addrinfo* result) {
    if (status == ARES_EDESTRUCTION) return;
    auto& lookup = *static_cast<Lookup*>(data);
    const Answer answer(result);
    if (status == ARES_SUCCESS && answer) {
      lookup.resolution.addresses = addresses_of(*answer);
      lookup.life = life_of(*answer);
    }
    lookup.resolution.servers = servers_of(status);
    lookup.definite = status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA;
    auto& fault = lookup.resolution.fault;
    if (status == ARES_ENOMEM) fault = LocalFault::enomem;
    if (fault != LocalFault::none && !lookup.definite && (!lookup.asked || status == ARES_ENOMEM))
      return lookup.owner->end_unasked(lookup, fault);
    lookup.owner->ended_.push_back(&lookup);
  }

  void finish_ended() {
    for (auto* lookup : std::exchange(ended_, {})) {
      const auto& round = rounds.at(lookup->round - 1);
      const bool definite = lookup->definite && !(round.edns && has_given_up_edns(lookup->channel.get()));
      if (!definite && lookup->round < rounds.size()) {
        ask(*lookup);
      } else {
        finish(*lookup);
      }
    }
    if (!ended_.empty()) finish_ended();  // rounds that ended within ask()
  }

  void finish(Lookup& lookup) {
    unschedule(lookup);
    if (!lookup.resolution.addresses.empty()) remember(lookup.resolution, lookup.life);
    finished_.push_back(std::move(lookup.resolution));
    under_way_.erase(finished_.back().name);
  }

  void schedule(Lookup& lookup) {
    unschedule(lookup);
    timeval time{};
    if (ares_timeout(lookup.channel.get(), nullptr, &time) == nullptr) return;
    // Rounded up: a wake-up too early would find nothing due, again and again.
    lookup.due = platform::monotonic_now() + Milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000 + 1);
    due_.emplace(*lookup.due, &lookup);
  }

  void unschedule(Lookup& lookup) {
    if (lookup.due) due_.erase({*lookup.due, &lookup});
    lookup.due.reset();
  }

  void remember(const Resolution& resolution, Milliseconds life) {
    const auto now = platform::monotonic_now();
    if (cache_.size() >= max_cached)
      std::erase_if(cache_, [now](const auto& c) { return c.second.expires <= now; });
    if (cache_.size() >= max_cached) cache_.clear();
    cache_.insert_or_assign(resolution.name, Cached{resolution.addresses, now + life});
  }

  const Milliseconds patience_;
  Poller& poller_;
  Hosts hosts_;
  std::unordered_map<std::string, Cached> cache_;
  std::vector<Resolution> finished_;
  std::vector<Lookup*> ended_;  // members of under_way_ that c-ares has just reported as ended
  std::unordered_map<int, Lookup*> by_socket_;
  std::set<std::pair<MonotonicTime, Lookup*>> due_;
  std::unordered_map<std::string, Lookup> under_way_;
};

Resolver::Resolver(Milliseconds patience, Poller& poller) : impl_(std::make_unique<Impl>(patience, poller)) {}
Resolver::~Resolver() = default;
const Addresses* Resolver::cached(const std::string& name, MonotonicTime now) const {
  return impl_->cached(name, now);
}
void Resolver::look_up(const std::string& name) { impl_->look_up(name); }
std::optional<MonotonicTime> Resolver::next_timeout() const { return impl_->next_timeout(); }
bool Resolver::process(const Poller::Event& event) { return impl_->process(event); }
std::vector<Resolution> Resolver::take_ended() { return impl_->take_ended(); }

}  // namespace dispatcher
