#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "launcher/supervisor/descriptor.h"
#include "launcher/supervisor/supervisor_link.h"

namespace scorecast::launcher {

/// The listening sockets of a service, by name (see kRequestSocket). Each is the one that a
/// supervisor or systemd holds for this process, or is opened if nobody does.
class ListeningSockets {
 public:
  /// Takes the sockets of systemd unless there is a supervisor. Throws StartupError.
  explicit ListeningSockets(std::string host);

  /// Reserves the address of a socket that nobody holds, so that a fault is found before the model
  /// is read. Clients are still refused. Throws StartupError. A supervisor is not asked, because it
  /// takes a process with a socket for one that can drain.
  void Reserve(const std::string& name, std::uint16_t port);

  struct Listening {
    Descriptor socket;
    std::string host;  ///< The address that it listens on.
  };

  /// The socket of a reserved name, which listens. `supervisor` may be null. Throws StartupError.
  Listening Take(const std::string& name, SupervisorLink* supervisor);

 private:
  const std::string host_;
  std::map<std::string, std::uint16_t> ports_;
  std::map<std::string, Descriptor> given_;     ///< They listen.
  std::map<std::string, Descriptor> reserved_;  ///< They do not listen yet.
};

}  // namespace scorecast::launcher
