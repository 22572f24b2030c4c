#include "shard/checkpoint/read_ahead.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::shard {
namespace {

using proto::Range;

/// Appends a part, or extends the last one if it is near.
void Append(const FilePart& part, std::vector<FilePart>& parts) {
  if (!parts.empty() && parts.back().file == part.file &&
      part.bytes.begin < parts.back().bytes.end + kMergedGap) {
    parts.back().bytes.end = std::max(parts.back().bytes.end, part.bytes.end);
  } else if (!part.bytes.empty()) {
    parts.push_back(part);
  }
}

/// Numbers of one row.
std::int64_t WidthOf(const TensorView& tensor) {
  return tensor.shape[0] == 0 ? 0 : tensor.num_elements() / tensor.shape[0];
}

}  // namespace

bool SkipsNoColumns(const TensorView& tensor, Range cols) {
  return (WidthOf(tensor) - cols.size()) * ItemSize(tensor.dtype) < kMergedGap;
}

std::vector<FilePart> PartsOfBlock(const TensorView& tensor, Range rows, Range cols) {
  proto::Check(!tensor.shape.empty(), "a block is a part of a vector or matrix");
  const std::int64_t width = WidthOf(tensor);
  const std::int64_t item = ItemSize(tensor.dtype);
  const auto at = [&](std::int64_t row, std::int64_t col) {
    return tensor.offset + (row * width + col) * item;
  };
  std::vector<FilePart> parts;
  if (rows.empty() || cols.empty()) {
    return parts;
  }
  if (SkipsNoColumns(tensor, cols)) {
    return {{tensor.file, {at(rows.begin, cols.begin), at(rows.end - 1, cols.end)}}};
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    parts.push_back({tensor.file, {at(row, cols.begin), at(row, cols.end)}});
  }
  return parts;
}

std::vector<FilePart> Merge(std::vector<FilePart> parts) {
  std::ranges::sort(parts, [](const FilePart& a, const FilePart& b) {
    return a.file == b.file ? a.bytes.begin < b.bytes.begin
                            : std::less<const WeightFile*>()(a.file, b.file);
  });
  std::vector<FilePart> merged;
  for (const FilePart& part : parts) {
    Append(part, merged);
  }
  return merged;
}

ReadAhead::ReadAhead(std::vector<std::vector<FilePart>> steps, std::int64_t window)
    : steps_(std::move(steps)), window_(window) {
  std::int64_t bytes = 0;
  for (std::vector<FilePart>& parts : steps_) {
    parts = Merge(std::move(parts));
    for (const FilePart& part : parts) {
      bytes += part.bytes.size();
    }
    ends_.push_back(bytes);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void ReadAhead::Reach(std::int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    step_ = std::max(step_, step);
  }
  reached_.notify_one();
}

std::int64_t ReadAhead::asked_bytes() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::int64_t ReadAhead::Limit() const {
  const auto step = static_cast<std::size_t>(step_);
  return step < ends_.size() ? ends_[step] + window_ : bytes();
}

void ReadAhead::Run(const std::stop_token& stop) {
  for (const std::vector<FilePart>& parts : steps_) {
    for (const FilePart& part : parts) {
      for (std::int64_t begin = part.bytes.begin; begin < part.bytes.end; begin += kBlock) {
        {
          std::unique_lock lock(mutex_);
          if (!reached_.wait(lock, stop, [this] { return asked_ < Limit(); })) {
            return;
          }
        }
        const std::int64_t bytes = std::min(kBlock, part.bytes.end - begin);
        part.file->Prefetch(begin, bytes);
        const std::lock_guard lock(mutex_);
        asked_ += bytes;
      }
    }
  }
}

}  // namespace scorecast::shard
