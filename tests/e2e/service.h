#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launcher/client/client.h"
#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

/// `scorecast serve` on free ports of 127.0.0.1. The destructor drains the service unless it has
/// ended.
class Service {
 public:
  /// Returns when the service is ready. Throws std::runtime_error with the service's standard error
  /// if it does not become ready.
  /// `supervise_flags`: flags of `scorecast supervise`, under which the service then runs.
  explicit Service(const BatchCommand& command,
                   const std::optional<std::vector<std::string>>& supervise_flags = std::nullopt);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::unique_ptr<launcher::Client> Connect() const {
    return std::make_unique<launcher::Client>(address_);
  }
  /// HOST:PORT of the request socket.
  const std::string& address() const { return address_; }
  const std::string& http_address() const { return http_address_; }

  Process& process() { return *process_; }
  /// The ranks' processes, by rank.
  std::vector<pid_t> Ranks() const;

  /// Drains the service and waits for its end.
  ProcessResult Drain();

 private:
  int ranks_ = 0;
  std::unique_ptr<Process> process_;
  std::string address_;
  std::string http_address_;
  bool ended_ = false;
};

/// The processes of a job's ranks, by rank.
std::vector<pid_t> RanksOf(pid_t mpirun);

/// True if the service has read every byte that the client sent.
bool HasReadAll(launcher::Client& client);

/// Resources that a process holds, from /proc. All zero if there is no such process.
struct Resources {
  std::size_t resident_bytes = 0;
  std::size_t descriptors = 0;
  std::size_t threads = 0;
};
Resources ResourcesOf(pid_t pid);

/// Files of /dev/shm and of Open MPI's temporary directory that a process has mapped or open.
std::vector<std::filesystem::path> SharedFilesOf(pid_t pid);

}  // namespace scorecast::testing
