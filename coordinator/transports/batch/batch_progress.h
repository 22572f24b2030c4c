#pragma once

#include <atomic>
#include <cstdint>

namespace scorecast::coordinator {

/// How far a run has come. Set by the run, and read by any thread.
class BatchProgress {
 public:
  /// A record was formed, and is written soon. `position` is that of its line in the input: see
  /// InputFile::position.
  void OnRecord(std::int64_t position) {
    position_ = position;
    ++records_;
  }

  std::int64_t records() const { return records_; }
  /// 0 before the first record.
  std::int64_t position() const { return position_; }

 private:
  std::atomic<std::int64_t> records_ = 0;
  std::atomic<std::int64_t> position_ = 0;
};

}  // namespace scorecast::coordinator
