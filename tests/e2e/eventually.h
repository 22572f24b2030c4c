#pragma once

#include <chrono>

#include <unistd.h>

namespace scorecast::testing {

/// Calls `holds` until it returns true. False if it does not within `limit`.
template <typename Predicate>
bool Eventually(const Predicate& holds,
                std::chrono::steady_clock::duration limit = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    usleep(5000);
  }
  return true;
}

}  // namespace scorecast::testing
