#include "launcher/listening_sockets.h"

#include <cstdlib>
#include <utility>

#include "coordinator/transports/connection/listening_socket.h"
#include "launcher/supervisor/systemd_sockets.h"
#include "proto/base/error.h"

namespace scorecast::launcher {
namespace {

bool IsSupervised() { return std::getenv(kSupervisorVariable) != nullptr; }

}  // namespace

ListeningSockets::ListeningSockets(std::string host) : host_(std::move(host)) {
  if (!IsSupervised()) {
    given_ = TakeSystemdSockets();
  }
}

void ListeningSockets::Reserve(const std::string& name, std::uint16_t port) {
  if (!IsSupervised() && !given_.contains(name)) {
    for (const auto& [other, socket] : reserved_) {
      // Both could be bound, and the fault would show only when the second one listens.
      if (port != 0 && ports_.at(other) == port) {
        throw proto::StartupError("cannot listen on port " + std::to_string(port) +
                                  " twice: for \"" + other + "\" and for \"" + name + "\"");
      }
    }
    reserved_[name] = Descriptor(coordinator::OpenBoundSocket(host_, port));
  }
  ports_[name] = port;
}

ListeningSockets::Listening ListeningSockets::Take(const std::string& name,
                                                   SupervisorLink* supervisor) {
  if (supervisor == nullptr && !given_.contains(name)) {
    Descriptor socket = std::move(reserved_.at(name));
    coordinator::Listen(socket.get());
    return {std::move(socket), host_};
  }
  Descriptor socket = supervisor != nullptr ? supervisor->Listen(name, host_, ports_.at(name))
                                            : std::move(given_.at(name));
  std::string host = coordinator::ListeningHost(socket.get());
  return {std::move(socket), std::move(host)};
}

}  // namespace scorecast::launcher
