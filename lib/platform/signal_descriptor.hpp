// What stop_signal and reload_signal have in common. Internal to the library.
#pragma once

#include <initializer_list>

namespace platform {

/// Blocks the signals in this thread, and in those that it starts from now on; they are read from the
/// descriptor returned, which never waits. Throws std::system_error.
int signal_descriptor(std::initializer_list<int> signals);

}  // namespace platform
