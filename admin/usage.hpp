// What --help says, made of the table of commands. Pure.
#pragma once

#include <string>
#include <string_view>

#include "admin/command.hpp"

namespace admin {

/// Of the program: every command.
std::string program_usage();

/// Of a group ("token"): its commands with their options.
std::string group_usage(std::string_view group);

/// Of one command: synopsis, what it does, its options, an example.
std::string command_usage(const Command& command);

}  // namespace admin
