#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

/// Path of the supervisor's socket, in the environment of the processes that it starts.
inline constexpr const char* kSupervisorVariable = "SCORECAST_SUPERVISOR";

/// Makes Open MPI put this rank's shared memory into the directory of the supervisor, which removes
/// it however the rank ends. To be called before MPI_Init. Changes nothing if there is no
/// supervisor, or if the supervisor runs on another host.
void UseSupervisorsDirectory();

/// Rank 0's connection to its supervisor.
class SupervisorLink {
 public:
  /// Connects. Null if no supervisor has started this process. Throws StartupError if the
  /// supervisor cannot be reached. `lost` is called on another thread if the supervisor ends while
  /// this process is not draining.
  static std::unique_ptr<SupervisorLink> Connect(std::function<void()> lost);
  SupervisorLink(Descriptor socket, std::function<void()> lost);
  ~SupervisorLink();
  SupervisorLink(const SupervisorLink&) = delete;
  SupervisorLink& operator=(const SupervisorLink&) = delete;

  /// The socket of this name. It is bound. It also listens already if it has served an earlier rank
  /// 0 or is systemd's. Throws StartupError with the supervisor's message if the address cannot be
  /// had. To be called before Ready.
  Descriptor Socket(const std::string& name, const std::string& host, std::uint16_t port);
  /// To be called before a new socket begins to listen. From then on this process must drain on
  /// SIGUSR1. Throws StartupError if the supervisor is gone.
  void Listening();
  /// Says that this process serves requests, and how long a drain takes at most.
  void Ready(std::chrono::milliseconds drain_time);
  /// Says that this process has written its AddressFile. The supervisor then removes the file even
  /// if this process is killed and not started again.
  void Wrote(const std::filesystem::path& address_file);
  void Draining();

 private:
  void Watch();

  Descriptor socket_;
  Descriptor stop_;  ///< An eventfd that ends the thread.
  std::function<void()> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_draining_ = false;
  std::thread watcher_;
};

}  // namespace scorecast::launcher
