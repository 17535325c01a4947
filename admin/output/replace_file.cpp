#include "admin/output/replace_file.hpp"

#include <fstream>
#include <stdexcept>

namespace admin {

void replace_file(const std::filesystem::path& path, const std::string& text) {
  auto aside = path;
  aside += ".new";
  std::ofstream file(aside, std::ios::binary | std::ios::trunc);
  if (!(file << text).flush()) throw std::runtime_error(path.string() + " could not be written");
  file.close();
  using std::filesystem::perms;
  std::filesystem::permissions(
      aside, perms::owner_read | perms::owner_write | perms::group_read | perms::others_read);
  std::filesystem::rename(aside, path);
}

}  // namespace admin
