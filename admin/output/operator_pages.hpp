// Puts the operator's values into the pages of the entities' documentation.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lib/config/config.hpp"

namespace admin {

enum class PageFormat { html, markdown };

/// The page with contact.* and api.address in place of the texts that stand for them. A text without a value
/// stays, and every such text is a sentence or an example that is true without one.
std::string operator_page(std::string_view page, const config::Settings& settings, PageFormat format);

/// Makes `folder` the same as `source` but for these values. Writes only the files that change, each
/// atomically, because nginx may be reading them; removes what `source` does not have, so `folder` must have
/// the documentation already, or nothing. Throws std::filesystem::filesystem_error, or std::runtime_error
/// that names the file or folder; then nothing has been changed if a folder is the wrong one.
void write_operator_pages(const std::filesystem::path& source, const std::filesystem::path& folder,
                          const config::Settings& settings);

}  // namespace admin
