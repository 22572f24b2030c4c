#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "proto/model/partition.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

/// Consecutive bytes of a file.
struct FilePart {
  const WeightFile* file = nullptr;
  proto::Range bytes;
};

/// Parts that lie closer together than this are read as one, because a further request to a disk or
/// a file server takes longer than these bytes: docs/operations.md#reading-the-weights has figures.
inline constexpr std::int64_t kMergedGap = std::int64_t{40} << 10;

/// Whether the columns that a block of a matrix lacks are too few to be skipped.
bool SkipsNoColumns(const TensorView& tensor, proto::Range cols);

/// Where a block of a tensor [rows, columns, …] lies in its file. `cols` are those of a matrix; for
/// a vector they are [0, 1). Parts closer together than kMergedGap are merged.
std::vector<FilePart> PartsOfBlock(const TensorView& tensor, proto::Range rows, proto::Range cols);

/// The same bytes, sorted by their place in the file. Parts closer together than kMergedGap are
/// merged.
std::vector<FilePart> Merge(std::vector<FilePart> parts);

/// Asks the system to bring parts of files into its page cache, on a thread of its own and in the
/// order in which they will be read. Reads find their bytes there and need not wait for the disk
/// one after another. The system's own read-ahead would instead read on behind the end of each
/// part.
class ReadAhead {
 public:
  /// Most bytes asked for beyond the step in progress. The bound keeps the pages in memory until
  /// they are read, even if memory is scarce.
  static constexpr std::int64_t kWindow = std::int64_t{256} << 20;
  /// Size of one request. Systems cut off what exceeds their limit, often 1 MiB over NFS.
  static constexpr std::int64_t kBlock = std::int64_t{1} << 20;

  /// `steps[i]` are the parts that the i-th step of loading reads. Their files must outlive this
  /// object. Begins with step 0.
  explicit ReadAhead(std::vector<std::vector<FilePart>> steps, std::int64_t window = kWindow);
  /// Asks for nothing more.
  ~ReadAhead() = default;
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Bytes of all parts, merged.
  std::int64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }

  /// Says that loading has reached this step.
  void Reach(std::int64_t step);

  /// Bytes that were asked for so far.
  std::int64_t asked_bytes() const;

 private:
  void Run(const std::stop_token& stop);
  /// The number of bytes that may have been asked for by now; mutex_ is held.
  std::int64_t Limit() const;

  std::vector<std::vector<FilePart>> steps_;
  std::int64_t window_;
  std::vector<std::int64_t> ends_;  // For each step, the bytes of all steps up to and including it.
  mutable std::mutex mutex_;
  std::condition_variable_any reached_;
  std::int64_t step_ = 0;   // Guarded by mutex_.
  std::int64_t asked_ = 0;  // Guarded by mutex_.
  std::jthread thread_;     // Last, so that it ends before the members it uses.
};

}  // namespace scorecast::shard
