#include "admin/commands.hpp"

namespace admin {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> table = [] {
    std::vector<Command> all;
    for (const auto group :
         {db_commands, entity_commands, contact_commands, token_commands, webhook_commands, receiver_commands,
          notification_commands, delivery_commands, replay_commands, notice_commands, audit_commands,
          report_commands, queue_commands, secrets_commands, config_commands, nginx_commands}) {
      for (const auto& command : group()) all.push_back(command);
    }
    return all;
  }();
  return table;
}

}  // namespace admin
