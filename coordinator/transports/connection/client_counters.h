#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace scorecast::coordinator {

/// What all connections of a server count together: see ClientsStatus. Safe to use from any thread.
class ClientCounters {
 public:
  std::atomic<std::int64_t> requests_in_flight = 0;

  /// Counts an error that a client got instead of a response.
  void CountRefusal(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    ++refusals_[reason];
  }

  std::map<std::string, std::int64_t> refusals() const {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> refusals_;
};

}  // namespace scorecast::coordinator
