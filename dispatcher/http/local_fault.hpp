// Tells faults of this host from those of a receiver and of the way to it. No receiver is charged with ours.
#pragma once

#include <curl/curl.h>

#include <string_view>

#include "lib/delivery/attempt.hpp"
#include "lib/platform/ip.hpp"

namespace dispatcher {

using delivery::LocalFault;

/// The fault of this host that the errno of a call on a socket means; `none`: that errno means no such fault.
LocalFault fault_of(int error);

/// The same if no socket could be made and bound. EAFNOSUPPORT is no fault: this host does not use the
/// family.
LocalFault fault_of_socket(int error);

/// The same if connect() failed. EADDRNOTAVAIL means that no port is free or, as without IPv6, that this host
/// has no address from which to reach `to`; the latter is no fault.
LocalFault fault_of_connect(int error, const platform::IpAddress& to);

/// The same for a transfer that ended. `of_system_call`: the fault that its last system call met; `message`:
/// what libcurl says; `connected`: the connection was ready for the request.
LocalFault fault_of(CURLcode code, LocalFault of_system_call, std::string_view message, bool connected);

}  // namespace dispatcher
