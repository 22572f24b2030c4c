#include "shard/model/workspace.h"

namespace scorecast::shard {
namespace {

/// Divides a buffer into parts of whole 64-byte lines. Only counts if the buffer is null.
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

void LayOut(Room& room, const proto::ModelConfig& config, const proto::Partition& partition,
            const proto::PlanLimits& limits, Precision precision, int threads, Workspace& work) {
  const std::int64_t rows = RoundUpRows(limits.max_rows);
  const std::int64_t h = config.hidden_size;
  const std::int64_t q = partition.heads.size() * config.head_dim;
  const std::int64_t i = partition.intermediate.size();
  room.Take(rows, h, work.hidden);
  room.Take(rows, q, work.queries);
  room.Take(rows, q, work.attended);
  room.Take(precision == Precision::kBfloat16 ? 0 : rows, i, work.activated);
  room.Take(rows, h, precision, work.selected);
  if (precision == Precision::kFloat32) {
    work.output_input = {precision, q, reinterpret_cast<std::byte*>(work.attended.data), nullptr};
    work.down_input = {precision, i, reinterpret_cast<std::byte*>(work.activated.data), nullptr};
  } else {
    room.Take(rows, q, precision, work.output_input);
    room.Take(rows, i, precision, work.down_input);
  }
  room.Take(threads, h, work.thread_row);
}

}  // namespace

Workspace::Workspace(const proto::ModelConfig& config, const proto::Partition& partition,
                     const proto::PlanLimits& limits, Precision precision, int threads) {
  Room counted(nullptr);
  LayOut(counted, config, partition, limits, precision, threads, *this);
  buffer_ = AlignedBuffer<std::byte>(static_cast<std::size_t>(counted.bytes()));
  Room room(buffer_.data());
  LayOut(room, config, partition, limits, precision, threads, *this);
}

std::int64_t Workspace::Bytes(const proto::ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits, Precision precision) {
  Workspace counted;
  Room room(nullptr);
  LayOut(room, config, partition, limits, precision, /*threads=*/1, counted);
  return room.bytes();
}

}  // namespace scorecast::shard
