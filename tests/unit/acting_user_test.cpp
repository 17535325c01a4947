#include "lib/platform/acting_user.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "lib/platform/file.hpp"
#include "tests/unit/child.hpp"
#include "tests/unit/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(acting_user)

namespace {

bool reads(const std::string& path) {
  try {
    platform::read_file(path);
    return true;
  } catch (const platform::FileError&) {
    return false;
  }
}

std::vector<gid_t> groups() {
  std::vector<gid_t> all(64);
  all.resize(static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(all.size()), all.data()), 0)));
  return all;
}

bool is_root(boost::unit_test::test_unit_id) { return ::geteuid() == 0; }

}  // namespace

BOOST_AUTO_TEST_CASE(root_sees_files_as_the_user_does_and_is_root_again,
                     *boost::unit_test::precondition(is_root)) {
  const unit::TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const auto of_root = folder.write("root", "x");
  const auto of_group = folder.write("group", "x");
  std::filesystem::permissions(of_group, std::filesystem::perms(0640));
  const passwd user = *::getpwnam("nobody");
  BOOST_REQUIRE(::chown(of_group.c_str(), 0, user.pw_gid) == 0);
  // In a child, because a failure could leave the process as another user.
  const auto child = unit::run_in_child([&] {
    const std::vector<gid_t> before{4};
    if (::setgroups(before.size(), before.data()) != 0) return 1;
    {
      const platform::ActingUser nobody("nobody");
      if (::geteuid() != user.pw_uid || ::getegid() != user.pw_gid || groups() == before) return 2;
      if (reads(of_root) || !reads(of_group)) return 3;
    }
    return ::geteuid() == 0 && ::getegid() == 0 && groups() == before && reads(of_root) ? 0 : 4;
  });
  BOOST_TEST(child.status == 0);
}

BOOST_AUTO_TEST_CASE(a_user_that_does_not_exist_is_named) {
  BOOST_CHECK_EXCEPTION(platform::ActingUser("no-such-user"), std::runtime_error, [](const auto& error) {
    return std::string(error.what()).find("no user no-such-user") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
