#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace scorecast::coordinator {

/// What tells one state of the files from another: which file each name stands for, its size, and
/// the times of its content and of its rights. A file that is not there has a state, too. Empty
/// names are no files.
std::string FileMarks(std::span<const std::string> files);

/// Lets others look from time to time whether their files have changed. They all look on one
/// thread.
class FileWatch {
 public:
  /// What is called at each look, which must outlive the watch and may take a while.
  using Look = std::function<void()>;

  explicit FileWatch(std::vector<Look> looks,
                     std::chrono::milliseconds interval = std::chrono::seconds(5));

 private:
  void Run(const std::stop_token& stop, std::chrono::milliseconds interval);

  const std::vector<Look> looks_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< Last, so that it ends before the others.
};

}  // namespace scorecast::coordinator
