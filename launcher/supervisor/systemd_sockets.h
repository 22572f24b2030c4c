#pragma once

#include <map>
#include <string>

#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

/// Name of the request socket among the sockets of systemd and of a supervisor.
inline constexpr const char* kRequestSocket = "requests";

/// The listening sockets that systemd passed to this process (LISTEN_PID, LISTEN_FDS and
/// LISTEN_FDNAMES, see sd_listen_fds(3)), by name. The only socket is the request socket, whatever
/// its name. Removes the variables from the environment. Throws StartupError if a socket is not a
/// TCP socket that listens, or if a name comes twice.
std::map<std::string, Descriptor> TakeSystemdSockets();

}  // namespace scorecast::launcher
