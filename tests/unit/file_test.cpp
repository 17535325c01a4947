#include "lib/platform/file.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/temporary_folder.hpp"

using namespace platform;

namespace {

std::string failure(const std::string& path, std::string (*read)(const std::string&)) {
  try {
    read(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(file_test)

BOOST_AUTO_TEST_CASE(a_file_is_read_byte_for_byte) {
  const unit::TemporaryFolder folder;
  const std::string bytes("a\r\n\0\xff\n", 6);
  BOOST_TEST(read_file(folder.write("bytes", bytes)) == bytes);
  BOOST_TEST(read_file(folder.write("empty", "")).empty());
}

BOOST_AUTO_TEST_CASE(a_secret_loses_only_its_line_ends) {
  const unit::TemporaryFolder folder;
  BOOST_TEST(read_secret_file(folder.write("a", " top secret \r\n\n")) == " top secret ");
  BOOST_TEST(read_secret_file(folder.write("b", "two\nlines\n")) == "two\nlines");
}

BOOST_AUTO_TEST_CASE(a_private_file_is_closed_to_every_other_user) {
  const unit::TemporaryFolder folder;
  const auto file = folder.write("secret", "x");
  const auto refused = [&](unsigned mode) {
    std::filesystem::permissions(file, std::filesystem::perms(mode));
    try {
      require_private(file);
    } catch (const FileError& error) {
      BOOST_TEST(std::string(error.what()).starts_with(file + ": every user of this host may"));
      BOOST_TEST(std::string(error.what()).ends_with("chmod o= " + file));
      return true;
    }
    return false;
  };
  for (const unsigned mode : {0600U, 0640U, 0660U, 0400U, 0601U}) BOOST_TEST(!refused(mode), mode);
  for (const unsigned mode : {0604U, 0644U, 0602U, 0666U}) BOOST_TEST(refused(mode), mode);
  BOOST_CHECK_THROW(require_private(folder.path() + "/missing"), FileError);
}

BOOST_AUTO_TEST_CASE(every_failure_names_the_file_and_the_reason) {
  const unit::TemporaryFolder folder;
  const auto missing = folder.path() + "/missing";
  BOOST_TEST(failure(missing, read_file) == missing + ": No such file or directory");
  BOOST_TEST(failure(missing, read_secret_file) == missing + ": No such file or directory");
  BOOST_TEST(failure(folder.path(), read_file) == folder.path() + ": Is a directory");
  const auto empty = folder.write("empty", "\n");
  BOOST_TEST(failure(empty, read_secret_file) == empty + ": is empty");
}

BOOST_AUTO_TEST_CASE(a_failure_is_one_line_whatever_the_name) {
  BOOST_TEST(failure("/nonexistent/a\nb", read_file) == "/nonexistent/a\\x0ab: No such file or directory");
}

BOOST_AUTO_TEST_CASE(one_mebibyte_is_the_limit) {
  const unit::TemporaryFolder folder;
  constexpr std::size_t limit = std::size_t{1} << 20;
  BOOST_TEST(read_file(folder.write("full", std::string(limit, 'x'))).size() == limit);
  const auto over = folder.write("over", std::string(limit + 1, 'x'));
  BOOST_TEST(failure(over, read_file) == over + ": larger than 1 MiB");
  BOOST_TEST(failure("/dev/zero", read_file) == "/dev/zero: larger than 1 MiB");
}

BOOST_AUTO_TEST_SUITE_END()
