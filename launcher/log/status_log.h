#pragma once

#include <functional>
#include <stop_token>
#include <thread>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/status/service_status.h"

namespace scorecast::launcher {

class Engine;

/// From now on, SIGUSR2 does not end the process, but is kept for a StatusLog. Called once.
void CatchStatusSignal();

/// Logs the status of rank 0: on SIGUSR2 at level info, and every ten seconds at level debug.
class StatusLog {
 public:
  /// A process has at most one such object at a time. `status` is called on a thread of the object.
  /// A signal that came earlier is handled at once.
  explicit StatusLog(std::function<coordinator::ServiceStatus()> status);
  ~StatusLog();
  StatusLog(const StatusLog&) = delete;
  StatusLog& operator=(const StatusLog&) = delete;

 private:
  void Run(const std::stop_token& stop);

  const std::function<coordinator::ServiceStatus()> status_;
  std::jthread thread_;
};

/// Logs one line with the hits, size and evictions of the K/V cache. Logs nothing if the cache is
/// off.
void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine);

}  // namespace scorecast::launcher
