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
  /// The delimiter's token id, which turns multi-item mode on; -1: items are scored one by one.
  int delimiter = -1;
};

/// `scorecast serve` under mpirun, on a free port of the loopback. It is ready when this object is
/// made and drained at the end of its life. Should this process die, the service ends too.
class ServiceProcess {
 public:
  /// std::runtime_error, with what the service said, where it does not get ready.
  explicit ServiceProcess(const ServiceOptions& options);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  /// HOST:PORT of the request socket.
  const std::string& address() const { return address_; }
  /// mpirun's.
  pid_t pid() const { return pid_; }
  /// In the order of the ranks, which mpirun starts one after another. std::runtime_error where the
  /// service has ended: what was measured is worth nothing then.
  std::vector<pid_t> Ranks() const;

 private:
  void ReadLog(int fd);
  bool EndsWithin(std::chrono::seconds time);
  void Stop();
  std::string Log();

  const int num_ranks_;
  pid_t pid_ = -1;
  int status_ = 0;
  std::string address_;
  std::promise<std::string> ready_;  ///< The address; empty where the service ended before.
  std::mutex mutex_;
  std::string log_;  ///< All that it printed.
  std::thread reader_;
};

}  // namespace scorecast::bench
