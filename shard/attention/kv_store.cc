#include "shard/attention/kv_store.h"

#include <algorithm>
#include <cstring>

#include "proto/base/check.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

std::int64_t RoundUp(std::int64_t n) { return (n + kKeyLanes - 1) / kKeyLanes * kKeyLanes; }

}  // namespace

KvStore::KvStore(const AttentionKernels& kernels, std::int64_t layers, std::int64_t kv_heads,
                 std::int64_t head_dim, std::int64_t kept_rows, std::int64_t pass_rows)
    : kernels_(kernels),
      layers_(layers),
      kv_heads_(kv_heads),
      head_dim_(head_dim),
      value_stride_(RoundUp(head_dim)),
      zeros_(static_cast<std::size_t>(head_dim)) {
  const auto make_room = [&](std::int64_t copies, std::int64_t rows) {
    const std::int64_t whole = RoundUp(rows);
    const auto bytes = static_cast<std::size_t>(copies * kv_heads * whole * kernels_.element_size);
    return Room{whole, AlignedBuffer<std::byte>(bytes * static_cast<std::size_t>(head_dim_)),
                AlignedBuffer<std::byte>(bytes * static_cast<std::size_t>(value_stride_))};
  };
  kept_ = make_room(layers, kept_rows);
  pass_ = make_room(1, pass_rows);
}

KvStore::View KvStore::At(std::int64_t layer, std::int64_t kv_head, proto::KvPlace place) {
  Room& room = place.kept ? kept_ : pass_;
  proto::Check(place.first % kKeyLanes == 0 && 0 <= place.first && place.first < room.rows,
               "a K/V place exists");
  const std::int64_t copy = place.kept ? layer % layers_ : 0;
  const std::int64_t row = (copy * kv_heads_ + kv_head) * room.rows + place.first;
  return From({room.keys.data(), room.values.data()}, row);
}

KvStore::View KvStore::From(View segment, std::int64_t row) const {
  return {segment.keys + row * head_dim_ * kernels_.element_size,
          segment.values + row * value_stride_ * kernels_.element_size};
}

void KvStore::WriteKey(View segment, std::int64_t row, const float* key) const {
  kernels_.store_key(key, head_dim_, row, From(segment, row / kKeyLanes * kKeyLanes).keys);
}

void KvStore::WriteValue(View segment, std::int64_t row, const float* value, bool is_last) const {
  std::byte* group = From(segment, row / kKeyLanes * kKeyLanes).values;
  kernels_.store_value(value, head_dim_, row % kKeyLanes, value_stride_, group);
  if (is_last && (row + 1) % kKeyLanes != 0) {
    kernels_.store_value(zeros_.data(), head_dim_, (row + 1) % kKeyLanes, value_stride_, group);
  }
}

void KvStore::Copy(std::span<const proto::KvCopy> copies, ThreadPool& pool) {
  for (const proto::KvCopy& copy : copies) {
    proto::Check(copy.from % proto::kKvPageRows == 0 && copy.to % proto::kKvPageRows == 0 &&
                     copy.from != copy.to && 0 < copy.rows && copy.rows <= proto::kKvPageRows,
                 "a K/V copy goes from the start of one page to the start of another");
    proto::Check(std::max(copy.from, copy.to) + RoundUp(copy.rows) <= kept_.rows,
                 "the places of a K/V copy exist");
  }
  pool.ParallelFor(static_cast<std::int64_t>(copies.size()) * layers_, [&](std::int64_t task, int) {
    const proto::KvCopy& copy = copies[static_cast<std::size_t>(task / layers_)];
    const std::int64_t rows = RoundUp(copy.rows);
    for (std::int64_t head = 0; head < kv_heads_; ++head) {
      const View from = At(task % layers_, head, {true, copy.from});
      const View to = At(task % layers_, head, {true, copy.to});
      const View behind = From(from, rows);
      std::memcpy(to.keys, from.keys, static_cast<std::size_t>(behind.keys - from.keys));
      std::memcpy(to.values, from.values, static_cast<std::size_t>(behind.values - from.values));
    }
  });
}

void KvStore::TouchPass(std::int64_t rows, ThreadPool& pool) {
  if (pass_.rows == 0) {
    return;
  }
  for (std::int64_t head = 0; head < kv_heads_; ++head) {
    const View begin = At(0, head, {.kept = false, .first = 0});
    const View end = From(begin, RoundUp(rows));
    TouchPages({begin.keys, end.keys}, pool);
    TouchPages({begin.values, end.values}, pool);
  }
}

std::int64_t KvStore::Bytes(std::int64_t element_size, std::int64_t layers, std::int64_t kv_heads,
                            std::int64_t head_dim, std::int64_t kept_rows, std::int64_t pass_rows) {
  const std::int64_t rows = layers * RoundUp(kept_rows) + RoundUp(pass_rows);
  return rows * kv_heads * (head_dim + RoundUp(head_dim)) * element_size;
}

}  // namespace scorecast::shard
