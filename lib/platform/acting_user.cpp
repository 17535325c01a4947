#include "lib/platform/acting_user.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace platform {

namespace {

std::vector<gid_t> supplementary_groups() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  groups.resize(
      static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(groups.size()), groups.data()), 0)));
  return groups;
}

}  // namespace

ActingUser::ActingUser(const std::string& name) : group_(::getegid()), groups_(supplementary_groups()) {
  const passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr)
    throw std::runtime_error("this host has no user " + name + ": systemd-sysusers apientidades.conf");
  const passwd user = *found;  // a further look-up may overwrite what `found` points to
  // The user comes last, because only root may change the groups.
  if (::initgroups(name.c_str(), user.pw_gid) == 0 && ::setegid(user.pw_gid) == 0 &&
      ::seteuid(user.pw_uid) == 0)
    return;
  const int error = errno;
  restore();
  throw std::system_error(error, std::generic_category(), "cannot act as " + name);
}

ActingUser::~ActingUser() { restore(); }

void ActingUser::restore() noexcept {
  if (::seteuid(::getuid()) != 0 || ::setegid(group_) != 0 ||
      (::getuid() == 0 && ::setgroups(groups_.size(), groups_.data()) != 0))
    std::abort();  // the process must not go on as another user
}

}  // namespace platform
