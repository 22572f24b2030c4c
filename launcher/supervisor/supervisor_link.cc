#include "launcher/supervisor/supervisor_link.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "launcher/supervisor/message.h"
#include "proto/base/error.h"

namespace scorecast::launcher {
namespace {

/// The signal that ended the supervisor may have come to this process, too. The process has this
/// time to begin its drain by itself. Otherwise the end of the supervisor would be a second cause,
/// which hurries the drain.
constexpr auto kTimeToDrain = std::chrono::milliseconds(500);

}  // namespace

void UseSupervisorsDirectory() {
  const char* socket = std::getenv(kSupervisorVariable);
  if (socket == nullptr) {
    return;
  }
  const std::filesystem::path directory = std::filesystem::path(socket).parent_path();
  std::error_code error;
  if (std::filesystem::is_directory(directory, error) &&
      directory.string().starts_with("/dev/shm")) {
    setenv("OMPI_MCA_btl_vader_backing_directory", directory.c_str(), /*overwrite=*/0);
  }
}

std::unique_ptr<SupervisorLink> SupervisorLink::Connect(std::function<void()> lost) {
  const char* path = std::getenv(kSupervisorVariable);
  if (path == nullptr) {
    return nullptr;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw proto::StartupError("cannot reach the supervisor at " + std::string(path) + ": " +
                              std::strerror(errno) + "; rank 0 must run on its host");
  }
  return std::make_unique<SupervisorLink>(std::move(socket), std::move(lost));
}

SupervisorLink::SupervisorLink(Descriptor socket, std::function<void()> lost)
    : socket_(std::move(socket)), stop_(eventfd(0, EFD_CLOEXEC)), lost_(std::move(lost)) {}

SupervisorLink::~SupervisorLink() {
  if (watcher_.joinable()) {
    eventfd_write(stop_.get(), 1);
    watcher_.join();
  }
}

Descriptor SupervisorLink::Socket(const std::string& name, const std::string& host,
                                  std::uint16_t port) {
  if (!Send(socket_.get(), SocketRequest{name, host, port}.ToText())) {
    throw proto::StartupError("the supervisor is gone");
  }
  std::optional<Message> reply = Receive(socket_.get());
  if (!reply) {
    throw proto::StartupError("the supervisor is gone");
  }
  if (reply->text != "socket" || !reply->descriptor) {
    throw proto::StartupError(reply->After("error").value_or("the supervisor sent no socket"));
  }
  return std::move(reply->descriptor);
}

void SupervisorLink::Listening() {
  if (!Send(socket_.get(), "listening")) {
    throw proto::StartupError("the supervisor is gone");
  }
}

void SupervisorLink::Ready(std::chrono::milliseconds drain_time) {
  Send(socket_.get(), "ready " + std::to_string(drain_time.count()));
  watcher_ = std::thread([this] { Watch(); });
}

void SupervisorLink::Wrote(const std::filesystem::path& address_file) {
  Send(socket_.get(), "address-file " + address_file.string());
}

void SupervisorLink::Draining() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
  }
  changed_.notify_all();
  Send(socket_.get(), "draining");
}

void SupervisorLink::Watch() {
  std::array<pollfd, 2> fds{pollfd{socket_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (fds[0].revents == 0 && fds[1].revents == 0) {
    poll(fds.data(), fds.size(), -1);
  }
  if (fds[1].revents != 0) {
    return;
  }
  // After the sockets, the supervisor sends nothing more, so this event means that the connection
  // has ended.
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kTimeToDrain, [this] { return is_draining_; })) {
    lost_();
  }
}

}  // namespace scorecast::launcher
