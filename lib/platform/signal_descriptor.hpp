// The common part of stop_signal and reload_signal. Internal to the library.
#pragma once

#include <initializer_list>

namespace platform {

/// Blocks the signals in this thread and in threads that it starts later. Returns a non-blocking descriptor
/// to read them from. Throws std::system_error.
int signal_descriptor(std::initializer_list<int> signals);

}  // namespace platform
