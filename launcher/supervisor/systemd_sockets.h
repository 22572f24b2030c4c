#pragma once

#include <map>
#include <string>

#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

// Names of the service's sockets among those of systemd and of a supervisor.
inline constexpr const char* kRequestSocket = "requests";
inline constexpr const char* kHttpSocket = "http";
inline constexpr const char* kHealthSocket = "health";

/// The listening sockets that systemd passed to this process (LISTEN_PID, LISTEN_FDS and
/// LISTEN_FDNAMES, see sd_listen_fds(3)), by name. A single socket is the request socket, unless
/// its name is another of these. Removes the variables from the environment. Throws StartupError if a
/// socket is not a TCP socket that listens, or if a name comes twice.
std::map<std::string, Descriptor> TakeSystemdSockets();

}  // namespace scorecast::launcher
