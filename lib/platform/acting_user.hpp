// Looks at files as another user does.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace platform {

/// While it exists, the process has the effective user, group and supplementary groups of a user of this
/// host, as systemd gives them to a unit with this User= and Group=. Only root may. The program must have one
/// thread.
class ActingUser {
 public:
  /// Throws std::runtime_error, also when there is no such user.
  explicit ActingUser(const std::string& name);
  ~ActingUser();
  ActingUser(const ActingUser&) = delete;
  ActingUser& operator=(const ActingUser&) = delete;

 private:
  void restore() noexcept;

  gid_t group_;
  std::vector<gid_t> groups_;
};

}  // namespace platform
