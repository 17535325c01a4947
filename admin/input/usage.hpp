// The texts of --help, from the table of commands. Pure.
#pragma once

#include <string>
#include <string_view>

#include "admin/command.hpp"

namespace admin {

/// Help for the program: every command.
std::string program_usage();

/// Help for a group ("token"): its commands with their options.
std::string group_usage(std::string_view group);

/// Help for a command: synopsis, description, options, example.
std::string command_usage(const Command& command);

}  // namespace admin
