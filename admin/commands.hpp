// The table of all commands (apientidades-admin(1)).
#pragma once

#include <vector>

#include "admin/command.hpp"

namespace admin {

/// All commands in the order of --help, each group together.
const std::vector<Command>& all_commands();

std::vector<Command> db_commands();
std::vector<Command> entity_commands();
std::vector<Command> contact_commands();
std::vector<Command> token_commands();
std::vector<Command> webhook_commands();
std::vector<Command> receiver_commands();
std::vector<Command> notification_commands();
std::vector<Command> delivery_commands();
std::vector<Command> notice_commands();
std::vector<Command> replay_commands();
std::vector<Command> audit_commands();
std::vector<Command> report_commands();
std::vector<Command> queue_commands();
std::vector<Command> secrets_commands();
std::vector<Command> config_commands();
std::vector<Command> nginx_commands();

}  // namespace admin
