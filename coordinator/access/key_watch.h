#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "coordinator/access/api_keys.h"

namespace scorecast::coordinator {

/// Looks at the file of keys from time to time, and reads it again when it has changed.
class KeyWatch {
 public:
  /// `keys` must outlive the watch.
  explicit KeyWatch(ApiKeys& keys, std::chrono::milliseconds interval = std::chrono::seconds(5));

 private:
  void Run(const std::stop_token& stop, std::chrono::milliseconds interval);

  ApiKeys& keys_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< Last, so that it ends before the others.
};

}  // namespace scorecast::coordinator
