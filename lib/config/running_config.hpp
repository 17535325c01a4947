// The configuration that a process has in force, noted in a file of the unit's RuntimeDirectory, for
// `apientidades-admin config show --running` and `config diff`. It holds no secrets, only paths to them.
#pragma once

#include <string>
#include <vector>

#include "lib/config/config.hpp"

namespace config {

struct RunningConfig {
  std::string program;
  std::string pid;
  std::string since;  // ISO 8601
  std::vector<KeyValue> values;
};

/// The note of this process. Without a RuntimeDirectory, or if the file cannot be written, there is none.
class RunningNote {
 public:
  RunningNote(const std::string& program, const Config& config);
  ~RunningNote();
  RunningNote(const RunningNote&) = delete;
  RunningNote& operator=(const RunningNote&) = delete;

 private:
  std::string path_;
  int lock_ = -1;  // the file, locked while this object exists
};

/// The notes of the processes that run, in the order of their folders and ids. Leaves out folders that do not
/// exist or that this user cannot read.
std::vector<RunningConfig> read_running_notes(const std::vector<std::string>& folders);

}  // namespace config
