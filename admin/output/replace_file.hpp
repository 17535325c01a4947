// Replaces a file that another program may be reading.
#pragma once

#include <filesystem>
#include <string>

namespace admin {

/// Writes `text` aside and renames it to `path`, readable for all. Throws std::runtime_error that names
/// `path`.
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace admin
