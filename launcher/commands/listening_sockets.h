#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "launcher/address/service_address.h"
#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

class SupervisorLink;

/// The sockets of a service, by name (see kRequestSocket). If a supervisor or systemd holds a
/// socket for this process, that socket is used. Otherwise it is opened.
class ListeningSockets {
 public:
  /// `supervisor` may be null; then the sockets of systemd are taken. Throws StartupError.
  ListeningSockets(std::string host, SupervisorLink* supervisor);

  /// Takes the address of a socket, so that a fault is found before the model is read. A new socket
  /// refuses clients until Take is called. A socket that has served before, or that is systemd's,
  /// is listening already, and its clients wait. Throws StartupError.
  void Reserve(const std::string& name, std::uint16_t port);

  /// The address of a reserved name. The IP may be 0.0.0.0 or ::, every address of this host.
  IpPort AddressOf(const std::string& name) const;

  /// Whether that address is a loopback address.
  bool IsOnLoopback(const std::string& name) const;

  /// Whether a supervisor or systemd holds the socket of a reserved name, too. New clients then
  /// wait for the next process instead of being refused when this one stops accepting.
  bool IsHeldElsewhere(const std::string& name) const { return held_elsewhere_.contains(name); }

  /// The socket of a reserved name, listening. Throws StartupError.
  Descriptor Take(const std::string& name);

 private:
  const std::string host_;
  SupervisorLink* const supervisor_;
  std::map<std::string, Descriptor> of_systemd_;
  std::map<std::string, Descriptor> reserved_;
  std::set<std::string> held_elsewhere_;
};

}  // namespace scorecast::launcher
