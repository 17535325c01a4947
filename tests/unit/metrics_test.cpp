#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>

#include "lib/metrics/endpoint.hpp"
#include "lib/metrics/table.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace std::chrono_literals;
using metrics::Metric;
using metrics::Table;

namespace {

std::vector<Metric> example() {
  return {
      {Metric::Kind::counter, "a_total", "Counts \\ things.", {{{"outcome", "good"}}, {{"outcome", "bad"}}}},
      {Metric::Kind::gauge, "b", "A number."},
      {Metric::Kind::histogram, "c_seconds", "How long.", {{}}, {1ms, 10ms, 1s}},
  };
}

bool contains(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// A process that counts until it is killed.
class Counting {
 public:
  Counting(const std::string& file) : pid_(::fork()) {
    if (pid_ != 0) return;
    const Table table(example(), file);
    for (;;) table.counter("a_total").add();
  }
  ~Counting() { kill(); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_;
};

std::string get(int port, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    [[maybe_unused]] const auto sent = ::write(fd, request.data(), request.size());
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;)
      answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return answer;
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BOOST_REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(metrics_test)

BOOST_AUTO_TEST_CASE(every_series_exists_from_the_start) {
  const auto text = Table(example()).text();
  BOOST_TEST(contains(text, "# HELP b A number."));
  BOOST_TEST(contains(text, "# TYPE a_total counter"));
  BOOST_TEST(contains(text, "# TYPE b gauge"));
  BOOST_TEST(contains(text, "# TYPE c_seconds histogram"));
  BOOST_TEST(contains(text, "a_total{outcome=\"good\"} 0"));
  BOOST_TEST(contains(text, "a_total{outcome=\"bad\"} 0"));
  BOOST_TEST(contains(text, "b 0"));
  BOOST_TEST(contains(text, "c_seconds_bucket{le=\"+Inf\"} 0"));
}

BOOST_AUTO_TEST_CASE(each_series_counts_for_itself) {
  const Table table(example());
  table.counter("a_total", 1).add(3);
  table.gauge("b").set(-2.5);
  const auto text = table.text();
  BOOST_TEST(contains(text, "a_total{outcome=\"good\"} 0"));
  BOOST_TEST(contains(text, "a_total{outcome=\"bad\"} 3"));
  BOOST_TEST(contains(text, "b -2.5"));
}

BOOST_AUTO_TEST_CASE(a_bound_belongs_to_its_bucket) {
  const Table table(example());
  const auto histogram = table.histogram("c_seconds");
  for (const auto duration : {0us, 1000us, 1001us, 999999us, 1000000us, 1000001us, -5us})
    histogram.observe(duration);
  const auto text = table.text();
  BOOST_TEST(contains(text, "c_seconds_bucket{le=\"0.001\"} 3"));
  BOOST_TEST(contains(text, "c_seconds_bucket{le=\"0.01\"} 4"));
  BOOST_TEST(contains(text, "c_seconds_bucket{le=\"1\"} 6"));
  BOOST_TEST(contains(text, "c_seconds_bucket{le=\"+Inf\"} 7"));
  BOOST_TEST(contains(text, "c_seconds_count 7"));
  BOOST_TEST(contains(text, "c_seconds_sum 3.002001"), text);
}

BOOST_AUTO_TEST_CASE(what_is_not_in_the_table_is_an_error) {
  const Table table(example());
  BOOST_CHECK_THROW(table.counter("nothing_total"), std::out_of_range);
  BOOST_CHECK_THROW(table.counter("a_total", 2), std::out_of_range);
  BOOST_CHECK_THROW(table.counter("b"), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(threads_lose_no_count) {
  const Table table(example());
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 10000; ++n)
          table.counter("a_total").add(), table.histogram("c_seconds").observe(2ms);
      });
  }
  BOOST_TEST(table.counter("a_total").value() == 40000U);
  BOOST_TEST(contains(table.text(), "c_seconds_count 40000"));
}

BOOST_AUTO_TEST_CASE(processes_count_together_and_a_killed_one_takes_nothing_with_it) {
  const unit::TemporaryFolder folder;
  const auto file = folder.path() + "/metrics";
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    Counting one(file);
    Counting other(file);
    const Table table(example(), file);
    const auto counter = table.counter("a_total");
    const auto enough = last + 10000;
    while (last < enough) {
      const auto now = counter.value();
      BOOST_REQUIRE(now >= last);
      last = now;
    }
    one.kill();
    const auto after = counter.value();
    BOOST_TEST(after >= last);
    other.kill();
    last = counter.value();
    BOOST_TEST(last >= after);
  }
  BOOST_TEST(Table(example(), file).counter("a_total").value() == last);
}

BOOST_AUTO_TEST_CASE(the_file_is_its_owners_alone) {
  const unit::TemporaryFolder folder;
  const Table table(example(), folder.path() + "/metrics");
  struct stat status;
  BOOST_REQUIRE(::stat((folder.path() + "/metrics").c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 0777) == 0600);
}

BOOST_AUTO_TEST_CASE(a_file_of_another_version_is_put_aside) {
  const unit::TemporaryFolder folder;
  const auto file = folder.path() + "/metrics";
  const Table old(example(), file);
  old.counter("a_total").add(5);
  auto changed = example();
  changed[2].bounds.back() = 2s;
  const Table young(changed, file);
  BOOST_TEST(young.counter("a_total").value() == 0U);
  young.counter("a_total").add();
  old.counter("a_total").add();
  BOOST_TEST(old.counter("a_total").value() == 6U);
  BOOST_TEST(Table(changed, file).counter("a_total").value() == 1U);
}

BOOST_AUTO_TEST_CASE(a_file_of_something_else_is_put_aside) {
  const unit::TemporaryFolder folder;
  for (const std::string& content : {std::string(), std::string("x"), std::string(100000, 'x')}) {
    const Table table(example(), folder.write("metrics", content));
    BOOST_TEST(table.counter("a_total").value() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_not_replaced) {
  namespace fs = std::filesystem;
  const unit::TemporaryFolder folder;
  const auto pipe = folder.path() + "/pipe";
  const auto link = folder.path() + "/link";
  const auto inner = folder.path() + "/inner";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink(folder.write("other", "x"), link);
  fs::create_directory(inner);
  for (const auto& path : {pipe, link, inner}) {
    const auto type = fs::symlink_status(path).type();
    BOOST_CHECK_THROW(Table(example(), path), std::system_error);
    BOOST_TEST((fs::symlink_status(path).type() == type), path);
    BOOST_TEST((!fs::exists(path + ".new") && !fs::exists(path + ".lock")), path);
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_made_is_an_error) {
  BOOST_CHECK_THROW(Table(example(), "/nonexistent/metrics"), std::system_error);
}

BOOST_AUTO_TEST_CASE(the_endpoint_answers_with_the_table) {
  const Table table(example());
  table.counter("a_total").add(9);
  const int port = free_port();
  const metrics::Endpoint endpoint("127.0.0.1:" + std::to_string(port), table);
  const auto answer = get(port, "/metrics");
  BOOST_TEST(answer.starts_with("HTTP/1.1 200"), answer);
  BOOST_TEST(answer.find("a_total{outcome=\"good\"} 9\n") != std::string::npos);
  BOOST_TEST(get(port, "/").find(" 404 ") != std::string::npos, get(port, "/"));
  BOOST_CHECK_EXCEPTION(
      metrics::Endpoint("127.0.0.1:" + std::to_string(port), table), std::runtime_error,
      [&](const auto& e) { return std::string(e.what()).find(std::to_string(port)) != std::string::npos; });
}

BOOST_AUTO_TEST_SUITE_END()
