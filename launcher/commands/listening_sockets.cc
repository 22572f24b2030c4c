#include "launcher/commands/listening_sockets.h"

#include <utility>

#include "coordinator/transports/connection/listening_socket.h"
#include "launcher/supervisor/supervisor_link.h"
#include "launcher/supervisor/systemd_sockets.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::launcher {

ListeningSockets::ListeningSockets(std::string host, SupervisorLink* supervisor)
    : host_(std::move(host)), supervisor_(supervisor) {
  if (supervisor_ == nullptr) {
    of_systemd_ = TakeSystemdSockets();
  }
}

void ListeningSockets::Reserve(const std::string& name, std::uint16_t port) {
  if (const auto found = of_systemd_.find(name); found != of_systemd_.end()) {
    reserved_[name] = std::move(found->second);
    held_elsewhere_.insert(name);
    return;
  }
  for (const auto& [other, socket] : reserved_) {
    if (port != 0 && coordinator::BoundPort(socket.get()) == port) {
      throw proto::StartupError("cannot listen on port " + std::to_string(port) + " twice: for " +
                                proto::Quoted(other) + " and for " + proto::Quoted(name));
    }
  }
  reserved_[name] = supervisor_ != nullptr ? supervisor_->Socket(name, host_, port)
                                           : Descriptor(coordinator::OpenBoundSocket(host_, port));
  if (supervisor_ != nullptr) {
    held_elsewhere_.insert(name);
  }
}

IpPort ListeningSockets::AddressOf(const std::string& name) const {
  const int socket = reserved_.at(name).get();
  return {coordinator::BoundHost(socket), coordinator::BoundPort(socket)};
}

bool ListeningSockets::IsOnLoopback(const std::string& name) const {
  return coordinator::IsOnLoopback(reserved_.at(name).get());
}

Descriptor ListeningSockets::Take(const std::string& name) {
  Descriptor socket = std::move(reserved_.at(name));
  coordinator::Listen(socket.get());
  return socket;
}

}  // namespace scorecast::launcher
