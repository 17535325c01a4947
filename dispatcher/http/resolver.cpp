#include "http/resolver.hpp"

#include <ares.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <list>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace dispatcher {

namespace {

using platform::Milliseconds;
using platform::MonotonicTime;

constexpr const char* configuration = "/etc/resolv.conf";
constexpr int tries = 2;  // of each server; c-ares doubles its wait in the second round

void require(int code) {
  if (code != ARES_SUCCESS) throw std::runtime_error(std::string("c-ares: ") + ares_strerror(code));
}

/// Once in a process.
void initialise() {
  static const int code = ares_library_init(ARES_LIB_INIT_ALL);
  require(code);
}

/// Tells one content of a file from another.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const char* path) {
  struct stat file;
  if (::stat(path, &file) != 0) return {};
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

struct ChannelDeleter {
  void operator()(ares_channel channel) const { ares_destroy(channel); }
};
using ChannelHandle = std::unique_ptr<std::remove_pointer_t<ares_channel>, ChannelDeleter>;

/// How long a try of a server is waited for, in milliseconds.
struct Waits {
  int first;
  int longest;
};

/// `watch` learns which sockets to poll.
ChannelHandle open_channel(Waits waits, ares_sock_state_cb watch, void* watcher) {
  std::array<char, 3> files_then_dns{"fb"};
  ares_options options{};
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  options.timeout = waits.first;
  options.tries = tries;
  options.ndomains = 0;  // an entity's name must never be completed to one of our own network
  options.lookups = files_then_dns.data();
  options.sock_state_cb = watch;
  options.sock_state_cb_data = watcher;
  int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
              ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_MAXTIMEOUTMS
  // From 1.31 on a server is waited for five times as long as it has taken of late, up to 5 s.
  options.maxtimeout = waits.longest;
  given |= ARES_OPT_MAXTIMEOUTMS;
#endif
#ifdef ARES_OPT_QUERY_CACHE
  // From 1.31 on answers are kept for up to an hour, failures too.
  options.qcache_max_ttl = 0;
  given |= ARES_OPT_QUERY_CACHE;
#endif
#ifdef ARES_OPT_UDP_MAX_QUERIES
  // From 1.20 on an answer that is no message fails one try of every query of the same socket.
  options.udp_max_queries = 1;
  given |= ARES_OPT_UDP_MAX_QUERIES;
#endif
  ares_channel channel = nullptr;
  require(ares_init_options(&channel, &options, given));
  return ChannelHandle(channel);
}

int count_servers(ares_channel channel) {
  int count = 0;
#if ARES_VERSION >= 0x011800  // 1.24, which deprecates the other
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

/// The configuration as it was read once, and the lookups that began with it.
class Channel {
 public:
  Channel(Milliseconds patience, Poller& poller) : poller_(poller), stamp_(stamp_of(configuration)) {
    // Its servers must be known before the wait can be chosen that lets every try have its time.
    const std::int64_t servers = count_servers(open_channel({1, 1}, nullptr, nullptr).get());
    const auto part = [&](int parts) {
      return static_cast<int>(std::max<std::int64_t>(patience.count() / (servers * parts), 1));
    };
    handle_ = open_channel({part((1 << tries) - 1), part(tries)}, &Channel::watch, this);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  ares_channel handle() const { return handle_.get(); }
  const Stamp& stamp() const { return stamp_; }

  std::optional<Milliseconds> next_timeout() const {
    timeval time{};
    if (ares_timeout(handle_.get(), nullptr, &time) == nullptr) return std::nullopt;
    // Rounded up: awake a moment too early there would be nothing to do, again and again.
    return Milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000 + 1);
  }

  bool process(const Poller::Event& event) {
    if (!sockets_.contains(event.fd)) return false;
    ares_process_fd(handle_.get(), event.read || event.error ? event.fd : ARES_SOCKET_BAD,
                    event.write ? event.fd : ARES_SOCKET_BAD);
    return true;
  }

  void process_overdue() { ares_process_fd(handle_.get(), ARES_SOCKET_BAD, ARES_SOCKET_BAD); }

 private:
  static void watch(void* data, ares_socket_t fd, int readable, int writable) {
    auto& self = *static_cast<Channel*>(data);
    if (readable == 0 && writable == 0) {
      self.sockets_.erase(fd);
      self.poller_.forget(fd);
      return;
    }
    try {
      self.poller_.watch(fd, readable != 0, writable != 0);
      self.sockets_.insert(fd);
    } catch (const std::exception&) {  // no memory: not heard, the question times out
    }
  }

  Poller& poller_;
  Stamp stamp_;
  std::set<int> sockets_;
  ChannelHandle handle_;  // destroyed first: it tells `watch` of the sockets that it closes
};

/// The answer's addresses, in its order.
Addresses addresses_of(const ares_addrinfo& answer) {
  Addresses result;
  for (const auto* node = answer.nodes; node != nullptr && result.size() < Resolver::max_addresses;
       node = node->ai_next) {
    if (const auto address = platform::IpAddress::from_sockaddr(node->ai_addr)) result.push_back(*address);
  }
  return result;
}

/// A record of /etc/hosts has no time to live. One of a server that has none tells nothing either.
bool from_server(const ares_addrinfo& answer) {
  for (const auto* node = answer.nodes; node != nullptr; node = node->ai_next) {
    if (node->ai_ttl > 0) return true;
  }
  return false;
}

Resolution::Servers servers_of(int status, const ares_addrinfo* answer) {
  using enum Resolution::Servers;
  switch (status) {
    case ARES_SUCCESS:
      return answer != nullptr && from_server(*answer) ? answered : nothing;
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
      return answered;
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ENOTIMP:
      return silent;
    default:  // not asked, or no answer that can be read: whoever owns the name may be the cause
      return nothing;
  }
}

/// How long the answer may be believed.
Milliseconds life_of(const ares_addrinfo& answer) {
  std::int64_t seconds = Resolver::longest_life.count() / 1000;
  for (const auto* node = answer.nodes; node != nullptr; node = node->ai_next)
    seconds = std::min<std::int64_t>(seconds, node->ai_ttl);
  for (const auto* alias = answer.cnames; alias != nullptr; alias = alias->next)
    seconds = std::min<std::int64_t>(seconds, alias->ttl);
  return std::max<Milliseconds>(std::chrono::seconds(seconds), Resolver::shortest_life);
}

struct AnswerDeleter {
  void operator()(ares_addrinfo* answer) const { ares_freeaddrinfo(answer); }
};

}  // namespace

class Resolver::Impl {
 public:
  Impl(Milliseconds patience, Poller& poller) : patience_(patience), poller_(poller) {
    initialise();
    channels_.emplace_back(patience_, poller_);
  }
  ~Impl() { channels_.clear(); }  // ends what is under way, while there is still where to write that down
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Addresses* cached(const std::string& name, MonotonicTime now) const {
    const auto found = cache_.find(name);
    return found != cache_.end() && now < found->second.expires ? &found->second.addresses : nullptr;
  }

  void look_up(const std::string& name) {
    const auto [query, inserted] = under_way_.try_emplace(name, Query{this, name});
    if (!inserted) return;
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(current_channel().handle(), name.c_str(), nullptr, &hints, &Impl::end, &query->second);
  }

  std::optional<Milliseconds> next_timeout() const {
    if (!finished_.empty()) return Milliseconds{0};
    std::optional<Milliseconds> result;
    for (const auto& channel : channels_) {
      const auto timeout = channel.next_timeout();
      if (timeout && (!result || *timeout < *result)) result = timeout;
    }
    return result;
  }

  bool process(const Poller::Event& event) {
    return std::ranges::any_of(channels_, [&event](auto& channel) { return channel.process(event); });
  }

  void process_overdue() {
    if (under_way_.empty()) return;
    for (auto& channel : channels_) channel.process_overdue();
  }

  std::vector<Resolution> take_finished() { return std::exchange(finished_, {}); }

 private:
  struct Query {
    Impl* owner;
    std::string name;
  };
  struct Cached {
    Addresses addresses;
    MonotonicTime expires;
  };

  /// With the configuration of now. What began with another goes on with that one.
  Channel& current_channel() {
    if (stamp_of(configuration) != channels_.back().stamp()) channels_.emplace_back(patience_, poller_);
    while (channels_.size() > 1 && !channels_.front().next_timeout()) channels_.pop_front();
    return channels_.back();
  }

  static void end(void* data, int status, int /*timeouts*/, ares_addrinfo* result) {
    const std::unique_ptr<ares_addrinfo, AnswerDeleter> answer(result);
    const auto& query = *static_cast<Query*>(data);
    auto& self = *query.owner;
    Resolution resolution{query.name, {}, servers_of(status, answer.get())};
    if (status == ARES_SUCCESS && answer) resolution.addresses = addresses_of(*answer);
    if (!resolution.addresses.empty()) self.remember(resolution, life_of(*answer));
    self.under_way_.erase(resolution.name);
    self.finished_.push_back(std::move(resolution));
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
  std::unordered_map<std::string, Query>
      under_way_;  // c-ares holds pointers to its values, which do not move
  std::unordered_map<std::string, Cached> cache_;
  std::vector<Resolution> finished_;
  std::list<Channel> channels_;  // the last one is the configuration's
};

Resolver::Resolver(Milliseconds patience, Poller& poller) : impl_(std::make_unique<Impl>(patience, poller)) {}
Resolver::~Resolver() = default;
const Addresses* Resolver::cached(const std::string& name, MonotonicTime now) const {
  return impl_->cached(name, now);
}
void Resolver::look_up(const std::string& name) { impl_->look_up(name); }
std::optional<Milliseconds> Resolver::next_timeout() const { return impl_->next_timeout(); }
bool Resolver::process(const Poller::Event& event) { return impl_->process(event); }
void Resolver::process_overdue() { impl_->process_overdue(); }
std::vector<Resolution> Resolver::take_finished() { return impl_->take_finished(); }

}  // namespace dispatcher
