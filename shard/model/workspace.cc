#include "shard/model/workspace.h"

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

}  // namespace

Workspace::Shape Workspace::ShapeOf(const proto::ModelConfig& config,
                                    const proto::Partition& partition, Precision precision,
                                    int threads) {
  return {.h = config.hidden_size,
          .q = partition.heads.size() * config.head_dim,
          .i = partition.intermediate.size(),
          .precision = precision,
          .threads = threads};
}

Workspace::Workspace(const proto::ModelConfig& config, const proto::Partition& partition,
                     const proto::PlanLimits& limits, Precision precision, int threads)
    : shape_(ShapeOf(config, partition, precision, threads)),
      buffer_(static_cast<std::size_t>(LayOut(limits.max_rows, nullptr))) {
  LayOut(limits.max_rows);
}

void Workspace::LayOut(std::int64_t rows) {
  proto::Check(LayOut(rows, buffer_.data()) <= static_cast<std::int64_t>(buffer_.size()),
               "the workspace has room for the rows of a pass");
}

std::int64_t Workspace::LayOut(std::int64_t max_rows, std::byte* begin) {
  const std::int64_t rows = RoundUpRows(max_rows);
  const auto& [h, q, i, precision, threads] = shape_;
  Room room(begin);
  room.Take(rows, h, hidden);
  room.Take(rows, q, queries);
  room.Take(rows, q, attended);
  room.Take(precision == Precision::kBfloat16 ? 0 : rows, i, activated);
  room.Take(rows, h, precision, selected);
  if (precision == Precision::kFloat32) {
    output_input = {precision, q, reinterpret_cast<std::byte*>(attended.data), nullptr};
    down_input = {precision, i, reinterpret_cast<std::byte*>(activated.data), nullptr};
  } else {
    room.Take(rows, q, precision, output_input);
    room.Take(rows, i, precision, down_input);
  }
  room.Take(threads, h, thread_row);
  return room.bytes();
}

void Workspace::Touch(std::int64_t rows, ThreadPool& pool) {
  const auto bytes = static_cast<std::size_t>(Workspace(shape_).LayOut(rows, nullptr));
  TouchPages(buffer_.span().first(bytes), pool);
}

std::int64_t Workspace::Bytes(const proto::ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits, Precision precision) {
  return Workspace(ShapeOf(config, partition, precision, /*threads=*/1))
      .LayOut(limits.max_rows, nullptr);
}

}  // namespace scorecast::shard
