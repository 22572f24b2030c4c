#include "shard/model/workspace.h"

#include <algorithm>

#include "proto/base/check.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

/// Divides a buffer into parts of whole 64-byte lines. If the buffer is null, only counts their
/// bytes.
class Room {
 public:
  explicit Room(std::byte* begin) : begin_(begin) {}

  void Take(std::int64_t rows, std::int64_t width, Rows<float>& to) {
    to = {reinterpret_cast<float*>(Take(rows * width * ElementSize(Precision::kFloat32))), width};
  }
  void Take(std::int64_t rows, std::int64_t width, Precision precision, Activations& to) {
    to = {precision, width, Take(rows * width * ElementSize(precision)), nullptr};
    if (precision == Precision::kInt8) {
      to.scales = reinterpret_cast<float*>(Take(rows * ElementSize(Precision::kFloat32)));
    }
  }
  void Take(std::int64_t rows, const std::vector<std::int64_t>& borders, Precision precision,
            BlockActivations& to) {
    to = {precision, borders, rows, Take(rows * borders.back() * ElementSize(precision)), nullptr};
    if (precision == Precision::kInt8) {
      to.scales =
          reinterpret_cast<float*>(Take(to.blocks() * rows * ElementSize(Precision::kFloat32)));
    }
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* Take(std::int64_t bytes) {
    constexpr std::int64_t kLine = 64;
    std::byte* taken = begin_ == nullptr ? nullptr : begin_ + bytes_;
    bytes_ += (bytes + kLine - 1) / kLine * kLine;
    return taken;
  }

  std::byte* begin_;
  std::int64_t bytes_ = 0;
};

/// Borders of blocks, of which each unit is `width` wide, counted from the first block.
std::vector<std::int64_t> BordersOf(const proto::Blocks& blocks, std::int64_t width) {
  std::vector<std::int64_t> borders;
  for (const std::int64_t border : blocks.borders) {
    borders.push_back((border - blocks.borders.front()) * width);
  }
  return borders;
}

}  // namespace

KeptKv KeptKvOf(const proto::ModelConfig& config, const proto::PlanLimits& limits) {
  if (config.bidirectional) {
    return {.layers = 2, .rows = limits.text_rows};
  }
  return {.layers = config.num_hidden_layers(), .rows = limits.kept_kv_rows};
}

Workspace::Shape Workspace::ShapeOf(const proto::ModelConfig& config,
                                    const proto::Partition& partition, Precision precision,
                                    int threads) {
  return {.h = config.hidden_size,
          .q = BordersOf(partition.head_blocks, config.head_dim),
          .i = BordersOf(partition.intermediate_blocks, 1),
          .precision = precision,
          .threads = threads};
}

Workspace::Workspace(const proto::ModelConfig& config, const proto::Partition& partition,
                     const proto::PlanLimits& limits, Precision precision, int threads)
    : shape_(ShapeOf(config, partition, precision, threads)),
      buffer_(static_cast<std::size_t>(LayOut(limits, nullptr))) {
  LayOut(limits);
}

void Workspace::LayOut(const proto::PlanLimits& limits) {
  proto::Check(LayOut(limits, buffer_.data()) <= static_cast<std::int64_t>(buffer_.size()),
               "the workspace has room for the rows of a pass");
}

std::int64_t Workspace::LayOut(const proto::PlanLimits& limits, std::byte* begin) {
  const std::int64_t rows = RoundUpRows(limits.max_rows);
  // Several reads may be of the same row.
  const std::int64_t rows_read = RoundUpRows(std::min(limits.max_rows, limits.max_reads));
  const auto& [h, q, i, precision, threads] = shape_;
  Room room(begin);
  room.Take(rows, h, hidden);
  room.Take(rows_read, h, precision, selected);
  room.Take(rows, q.back(), queries);
  room.Take(rows, q.back(), attended);
  room.Take(precision == Precision::kInt8 ? rows : 0, i.back(), activated);
  if (precision == Precision::kFloat32 && q.size() == 2) {
    output_input = {precision, q, rows, reinterpret_cast<std::byte*>(attended.data), nullptr};
  } else {
    room.Take(rows, q, precision, output_input);
  }
  room.Take(rows, i, precision, down_input);
  room.Take(threads, h, thread_row);
  return room.bytes();
}

void Workspace::Touch(const proto::PlanLimits& limits, ThreadPool& pool) {
  const auto bytes = static_cast<std::size_t>(Workspace(shape_).LayOut(limits, nullptr));
  TouchPages(buffer_.span().first(bytes), pool);
}

std::int64_t Workspace::Bytes(const proto::ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits, Precision precision) {
  return Workspace(ShapeOf(config, partition, precision, /*threads=*/1)).LayOut(limits, nullptr);
}

}  // namespace scorecast::shard
