#include "launcher/supervisor/systemd_sockets.h"

#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "proto/base/error.h"

namespace scorecast::launcher {
namespace {

/// systemd passes descriptors from 3 on.
constexpr int kFirstDescriptor = 3;

/// Removes a variable from the environment and returns its value. Empty if it is not set.
std::string Take(const char* variable) {
  const char* value = std::getenv(variable);
  std::string text = value == nullptr ? "" : value;
  unsetenv(variable);
  return text;
}

}  // namespace

std::map<std::string, Descriptor> TakeSystemdSockets() {
  const std::string pid = Take("LISTEN_PID");
  const int count = std::atoi(Take("LISTEN_FDS").c_str());
  std::istringstream names(Take("LISTEN_FDNAMES"));
  std::map<std::string, Descriptor> sockets;
  if (pid != std::to_string(getpid())) {
    return sockets;  // The variables are for another process.
  }
  for (int i = 0; i < count; ++i) {
    Descriptor socket(kFirstDescriptor + i);
    std::string name;
    std::getline(names, name, ':');
    if (name.empty() || (count == 1 && name != kHttpSocket && name != kHealthSocket)) {
      name = kRequestSocket;
    }
    fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
    if (!coordinator::IsListeningSocket(socket.get())) {
      throw proto::StartupError("systemd's socket " + name + " is not a TCP socket that listens");
    }
    if (!sockets.emplace(name, std::move(socket)).second) {
      throw proto::StartupError("systemd passes two sockets named " + name);
    }
  }
  return sockets;
}

}  // namespace scorecast::launcher
