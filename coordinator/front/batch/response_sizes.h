#pragma once

#include <cstdint>

namespace scorecast::coordinator {

/// How many bytes responses are expected to have, from those that have come: a guess, because only
/// replicas know bounds.
class ResponseSizes {
 public:
  void Learn(std::int64_t request_bytes, std::int64_t response_bytes) {
    requests_ += static_cast<double>(request_bytes);
    responses_ += static_cast<double>(response_bytes);
  }

  /// Twice the mean, in which a request weighs as much as it has bytes.
  std::int64_t Expect(std::int64_t request_bytes) const {
    return requests_ == 0 ? kFirstBytes
                          : static_cast<std::int64_t>(2 * responses_ / requests_ *
                                                      static_cast<double>(request_bytes));
  }

 private:
  /// Before the first response few lines are in flight.
  static constexpr std::int64_t kFirstBytes = std::int64_t{4} << 20;

  double requests_ = 0;
  double responses_ = 0;
};

}  // namespace scorecast::coordinator
