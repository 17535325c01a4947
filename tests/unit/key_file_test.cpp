#include "lib/webhook/key_file.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <thread>

#include "lib/crypto/crypto.hpp"
#include "tests/unit/child.hpp"
#include "tests/unit/temporary_folder.hpp"

using webhook::KeyRing;
using webhook::SharedKeys;

BOOST_AUTO_TEST_SUITE(key_file)

namespace {

std::string line(const std::string& id, char byte) {
  return id + ":" + crypto::to_base64(std::string(32, byte)) + "\n";
}

/// Reloads the file at `path` in a child process that begins with the key `old`; returns what the child logs.
std::string log_of_reload(const std::string& path, const std::string& expected_current) {
  const auto child = unit::run_in_child([&] {
    SharedKeys keys(KeyRing::parse(line("old", 'o')));
    webhook::reload_keys(keys, path, platform::Log());
    return keys.current()->current_id() == expected_current ? 0 : 1;
  });
  BOOST_TEST(child.status == 0, "the current key is not " << expected_current);
  return child.err;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_reload_puts_the_new_keys_in_force_and_says_which) {
  const unit::TemporaryFolder folder;
  const auto path = folder.write("secrets.keys", line("new", 'n') + line("old", 'o'));
  const auto log = log_of_reload(path, "new");
  BOOST_TEST(log.find("keys reloaded current=new keys=new,old") != std::string::npos, log);
  BOOST_TEST(log.find(crypto::to_base64(std::string(32, 'n'))) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_bad_file_keeps_the_keys_and_is_one_line_with_its_place) {
  const unit::TemporaryFolder folder;
  const auto path = folder.path() + "/secrets.keys";
  const std::pair<std::string, std::string> broken[] = {
      {"", "there is no key"},
      {line("new", 'n') + "otra cosa\n", "line 2: "},
      {line("new", 'n') + "k:abc", "line 2: "},
      {line("new", 'n') + line("new", 'x'), "line 2: "},
      {std::string(1100000, '#'), "larger"},
  };
  const auto told = "secrets.key_file: " + path + ": ";
  for (const auto& [text, what] : broken) {
    folder.write("secrets.keys", text);
    const auto log = log_of_reload(path, "old");
    BOOST_TEST(log.find(" error keys not reloaded") != std::string::npos, log);
    BOOST_TEST(log.find(std::string(told).append(what)) != std::string::npos, log);
    BOOST_TEST(log.find('\n') == log.size() - 1, "more than one line: " << log);
  }
  std::filesystem::remove(path);
  BOOST_TEST(log_of_reload(path, "old").find("No such file") != std::string::npos);
  BOOST_TEST(log_of_reload(folder.path(), "old").find("error keys not reloaded") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(keys_that_every_user_may_read_are_refused) {
  const unit::TemporaryFolder folder;
  const auto path = folder.write("secrets.keys", line("new", 'n'));
  BOOST_TEST(webhook::read_key_file(path).current_id() == "new");
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  BOOST_CHECK_EXCEPTION(webhook::read_key_file(path), config::ConfigError, [&](const auto& error) {
    return std::string(error.what()).starts_with("secrets.key_file: " + path + ": every user");
  });
  BOOST_TEST(log_of_reload(path, "old").find("chmod o= ") != std::string::npos);
}

// Threads take the current ring while it is replaced: ThreadSanitizer looks for races here.
BOOST_AUTO_TEST_CASE(a_ring_in_use_survives_concurrent_replacements) {
  SharedKeys keys(KeyRing::parse(line("k0", 'a')));
  const auto first = keys.current();
  const auto sealed = first->seal(7, "secreto");
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (!stop) {
          const auto ring = keys.current();
          if (ring->open(7, ring->seal(7, "otro")) != "otro") ++failures;
        }
      });
    }
    for (int i = 1; i < 200; ++i) keys.replace(KeyRing::parse(line("k" + std::to_string(i), 'b')));
    stop = true;
  }
  BOOST_TEST(failures == 0);
  BOOST_TEST(keys.current()->current_id() == "k199");
  BOOST_TEST(first->open(7, sealed).value() == "secreto");
  BOOST_TEST(!keys.current()->open(7, sealed).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
