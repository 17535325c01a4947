#include "admin/key_ring.hpp"

#include "platform/config.hpp"
#include "platform/file.hpp"

namespace admin {

webhook::KeyRing read_key_ring(const std::string& path) {
  if (path.empty())
    throw platform::ConfigError(
        "secrets.key_file is not set: give the path of a file with lines `id:base64` of 32 bytes");
  try {
    return webhook::KeyRing::parse(platform::read_file(path));
  } catch (const platform::FileError& e) {
    throw platform::ConfigError(std::string("secrets.key_file: ") + e.what());
  } catch (const webhook::KeyFileError& e) {
    throw platform::ConfigError("secrets.key_file: " + path + ": " + e.what());
  }
}

}  // namespace admin
