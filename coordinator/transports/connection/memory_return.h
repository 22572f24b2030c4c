#pragma once

#include <atomic>
#include <cstdint>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace scorecast::coordinator {

/// Gives memory that large requests and replies took back to the system, soon after they are done.
/// glibc by itself keeps most of it: what many small allocations took lies between others that are
/// still used. Safe to use from any thread.
class MemoryReturn {
 public:
  /// Works on `executor`.
  explicit MemoryReturn(boost::asio::any_io_executor executor);

  /// Notes that a request or reply of this size is done.
  void Note(std::int64_t bytes);
  /// Gives nothing back any more, so that nothing waits on the executor.
  void Stop();

 private:
  void Wait();

  boost::asio::steady_timer timer_;  ///< Used on its executor, a strand.
  std::atomic<std::int64_t> noted_ = 0;
};

}  // namespace scorecast::coordinator
