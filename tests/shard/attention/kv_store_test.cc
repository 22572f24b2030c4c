#include "shard/attention/kv_store.h"

#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace {

using proto::KvPlace;
using testing::RandomFloats;
using testing::RandomInt;

constexpr std::int64_t kLayers = 3;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kKeptRows = 50;  // Rounded up to 64.
constexpr std::int64_t kPassRows = 32;

/// One row's key or value as it lies in a view.
std::vector<float> KeyOf(KvStore::View view, std::int64_t row, std::int64_t head_dim) {
  std::vector<float> key;
  for (std::int64_t d = 0; d < head_dim; ++d) {
    key.push_back(view.keys[(row / kKeyLanes * head_dim + d) * kKeyLanes + row % kKeyLanes]);
  }
  return key;
}

std::vector<float> ValueOf(KvStore::View view, std::int64_t row, const KvStore& store) {
  const float* value = view.values + row * store.value_stride();
  return {value, value + store.value_stride()};
}

class KvStoreTest : public ::testing::TestWithParam<std::int64_t> {};

// Every row of every layer, head and room has its own place; what one pass needs only is shared by
// the layers.
TEST_P(KvStoreTest, KeepsEveryRowApart) {
  const std::int64_t head_dim = GetParam();
  KvStore store(kLayers, kHeads, head_dim, kKeptRows, kPassRows);
  EXPECT_EQ(store.value_stride() % kKeyLanes, 0);
  EXPECT_GE(store.value_stride(), head_dim);
  EXPECT_LT(store.value_stride(), head_dim + kKeyLanes);

  std::mt19937 random(1);
  using At = std::tuple<std::int64_t, std::int64_t, bool, std::int64_t>;  // Layer, head, kept, row.
  std::map<At, std::pair<std::vector<float>, std::vector<float>>> written;
  const auto write = [&](std::int64_t layer, std::int64_t head, bool kept, std::int64_t row) {
    const std::vector<float> key = RandomFloats(random, head_dim);
    const std::vector<float> value = RandomFloats(random, head_dim);
    // By a segment that begins in some granule at or before the row.
    const auto first = static_cast<std::int32_t>(RandomInt(random, 0, row / proto::kKvGranule) *
                                                 proto::kKvGranule);
    store.Write(store.At(layer, head, {kept, first}), row - first, key.data(), value.data());
    written[{kept ? layer : 0, head, kept, row}] = {key, value};
  };
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t row = 0; row < kKeptRows; ++row) {
        write(layer, head, true, row);
      }
      for (std::int64_t row = 0; row < kPassRows; ++row) {
        write(layer, head, false, row);
      }
    }
  }
  for (const auto& [at, row_data] : written) {
    const auto [layer, head, kept, row] = at;
    const KvStore::View view = store.At(layer, head, {kept, 0});
    std::vector<float> value = row_data.second;
    value.resize(static_cast<std::size_t>(store.value_stride()), 0.0F);
    EXPECT_EQ(KeyOf(view, row, head_dim), row_data.first);
    EXPECT_EQ(ValueOf(view, row, store), value) << "what pads a value is zero";
  }
}

TEST_P(KvStoreTest, BytesAreThoseOfItsRooms) {
  const std::int64_t head_dim = GetParam();
  KvStore store(kLayers, kHeads, head_dim, kKeptRows, kPassRows);
  const std::int64_t rows = kLayers * proto::KvRows(kKeptRows) + proto::KvRows(kPassRows);
  EXPECT_EQ(KvStore::Bytes(kLayers, kHeads, head_dim, kKeptRows, kPassRows),
            rows * kHeads * (head_dim + store.value_stride()) * 4);
}

INSTANTIATE_TEST_SUITE_P(HeadDims, KvStoreTest, ::testing::Values(2, 8, 16, 80, 128));

TEST(KvStore, MayKeepNothing) {
  KvStore store(kLayers, kHeads, 8, 0, 16);
  EXPECT_NE(store.At(2, 1, {false, 0}).keys, nullptr);
  EXPECT_EQ(KvStore::Bytes(kLayers, kHeads, 8, 0, 16), 16 * kHeads * (8 + 16) * 4);
}

TEST(KvStoreDeath, PlacesOutsideAreABrokenInvariant) {
  KvStore store(1, 1, 8, 32, 16);
  EXPECT_DEATH(store.At(0, 0, {true, 32}), "K/V place");
  EXPECT_DEATH(store.At(0, 0, {false, 16}), "K/V place");
  EXPECT_DEATH(store.At(0, 0, {true, 8}), "K/V place");
  EXPECT_DEATH(store.At(0, 0, {true, -16}), "K/V place");
}

}  // namespace
}  // namespace scorecast::shard
