#include "shard/attention/kv_store.h"

#include <algorithm>

#include "proto/base/check.h"

namespace scorecast::shard {
namespace {

std::int64_t RoundUp(std::int64_t n) { return (n + kKeyLanes - 1) / kKeyLanes * kKeyLanes; }

}  // namespace

KvStore::KvStore(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim,
                 std::int64_t kept_rows, std::int64_t pass_rows)
    : kv_heads_(kv_heads), head_dim_(head_dim), value_stride_(RoundUp(head_dim)) {
  const auto make_room = [&](std::int64_t copies, std::int64_t rows) {
    const std::int64_t whole = RoundUp(rows);
    const auto heads = static_cast<std::size_t>(copies * kv_heads * whole);
    return Room{whole, AlignedBuffer<float>(heads * static_cast<std::size_t>(head_dim_)),
                AlignedBuffer<float>(heads * static_cast<std::size_t>(value_stride_))};
  };
  kept_ = make_room(layers, kept_rows);
  pass_ = make_room(1, pass_rows);
}

KvStore::View KvStore::At(std::int64_t layer, std::int64_t kv_head, proto::KvPlace place) {
  Room& room = place.kept ? kept_ : pass_;
  proto::Check(place.first % kKeyLanes == 0 && 0 <= place.first && place.first < room.rows,
               "a K/V place exists");
  const std::int64_t copy = place.kept ? layer : 0;
  const std::int64_t row = (copy * kv_heads_ + kv_head) * room.rows + place.first;
  return {room.keys.data() + row * head_dim_, room.values.data() + row * value_stride_};
}

void KvStore::Write(View segment, std::int64_t row, const float* key, const float* value) const {
  float* keys = segment.keys + row / kKeyLanes * kKeyLanes * head_dim_ + row % kKeyLanes;
  for (std::int64_t d = 0; d < head_dim_; ++d) {
    keys[d * kKeyLanes] = key[d];
  }
  std::copy_n(value, head_dim_, segment.values + row * value_stride_);
}

std::int64_t KvStore::Bytes(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim,
                            std::int64_t kept_rows, std::int64_t pass_rows) {
  const std::int64_t rows = layers * RoundUp(kept_rows) + RoundUp(pass_rows);
  return rows * kv_heads * (head_dim + RoundUp(head_dim)) *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace scorecast::shard
