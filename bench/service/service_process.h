#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace scorecast::bench {

struct ServiceOptions {
  std::filesystem::path model_dir;
  int ranks = 2;
  int threads = 0;  ///< Of each rank; 0: its share of the CPUs.
  int max_batch_tokens = 8192;
  bool one_by_one = false;        ///< Otherwise in one pass.
  std::filesystem::path program;  ///< Empty: this build's.
};

/// `scorecast serve` under mpirun, on free ports of the loopback interface. The destructor drains
/// it. If this process dies, the service ends, too.
class ServiceProcess {
 public:
  /// Returns when the service is ready. Throws std::runtime_error with the service's output if it
  /// does not become ready.
  explicit ServiceProcess(const ServiceOptions& options);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  /// HOST:PORT of the request socket.
  const std::string& address() const { return addresses_.requests; }
  /// HOST:PORT of HTTP.
  const std::string& http_address() const { return addresses_.http; }
  /// The process id of mpirun.
  pid_t pid() const { return pid_; }
  /// Process ids by rank; mpirun starts the ranks in order. Throws std::runtime_error if the
  /// service has ended, because measurements are worthless then.
  std::vector<pid_t> Ranks() const;

 private:
  struct Addresses {
    std::string requests;  ///< Empty if the service ended before it was ready.
    std::string http;
  };

  /// The addresses, if this is the line that the service prints when it is ready.
  static Addresses AddressesIn(const std::string& line);
  void ReadLog(int fd);
  bool EndsWithin(std::chrono::seconds time);
  void Stop();
  std::string Log();

  const int num_ranks_;
  pid_t pid_ = -1;
  int status_ = 0;
  Addresses addresses_;
  std::promise<Addresses> ready_;
  std::mutex mutex_;
  std::string log_;  ///< The service's whole output.
  std::thread reader_;
};

}  // namespace scorecast::bench
