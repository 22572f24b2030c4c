#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/service/request_observer.h"

namespace scorecast::coordinator {

/// The clients of the requests that have ended, with the codes of their replies: "alice 200".
class EndedClients : public RequestObserver {
 public:
  void OnEnd(const RequestEnd& end) override {
    const std::lock_guard lock(mutex_);
    ended_.push_back(std::string(end.client) + " " + std::to_string(end.code));
  }
  void OnIoWait(Clock::duration) override {}

  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ended_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> ended_;
};

}  // namespace scorecast::coordinator
