#include "shard/attention/kv_store.h"

#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/element_type.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/resident_pages.h"

namespace scorecast::shard {
namespace kv_store_test {

using testing::ElementType;
using testing::RandomFloats;
using testing::RandomInt;

constexpr std::int64_t kLayers = 3;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kKeptRows = 50;  // Rounded up to 64.
constexpr std::int64_t kPassRows = 32;

struct Kind {
  std::int64_t head_dim = 0;
  ElementType type;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.head_dim << "_of_" << kind.type.name();
}

class KvStoreTest : public ::testing::TestWithParam<Kind> {
 protected:
  KvStore MakeStore() const { return {kernels_, kLayers, kHeads, head_dim_, kKeptRows, kPassRows}; }

  /// One row's key or value, read from a view.
  std::vector<float> KeyOf(KvStore::View view, std::int64_t row) const {
    std::vector<float> key;
    for (std::int64_t d = 0; d < head_dim_; ++d) {
      key.push_back(type_.At(view.keys, type_.KeyIndex(row, d, head_dim_)));
    }
    return key;
  }
  std::vector<float> ValueOf(KvStore::View view, std::int64_t row, std::int64_t stride) const {
    std::vector<float> value;
    for (std::int64_t d = 0; d < stride; ++d) {
      value.push_back(type_.At(view.values, type_.ValueIndex(row, d, stride)));
    }
    return value;
  }

  const std::int64_t head_dim_ = GetParam().head_dim;
  const ElementType type_ = GetParam().type;
  const AttentionKernels& kernels_ = type_.KernelsOf(KernelsFor(DetectCpuFeatures()));
  std::mt19937 random_{1};
};

// Every row of every layer, head and storage has its own memory. Layers share the storage of K/V
// that only one pass needs.
TEST_P(KvStoreTest, KeepsEveryRowApart) {
  KvStore store = MakeStore();
  EXPECT_EQ(store.value_stride() % kKeyLanes, 0);
  EXPECT_GE(store.value_stride(), head_dim_);
  EXPECT_LT(store.value_stride(), head_dim_ + kKeyLanes);

  using At = std::tuple<std::int64_t, std::int64_t, bool, std::int64_t>;  // Layer, head, kept, row.
  std::map<At, std::pair<std::vector<float>, std::vector<float>>> written;
  const auto write = [&](std::int64_t layer, std::int64_t head, bool kept, std::int64_t row) {
    const std::vector<float> key = RandomFloats(random_, head_dim_);
    const std::vector<float> value = RandomFloats(random_, head_dim_);
    // Writes through a segment that begins at a random granule at or before the row.
    const auto first = static_cast<std::int32_t>(RandomInt(random_, 0, row / proto::kKvGranule) *
                                                 proto::kKvGranule);
    const KvStore::View view = store.At(layer, head, {kept, first});
    store.WriteKey(view, row - first, key.data());
    store.WriteValue(view, row - first, value.data(), false);
    written[{kept ? layer : 0, head, kept, row}] = {type_.Round(key), type_.Round(value)};
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
    EXPECT_EQ(KeyOf(view, row), row_data.first);
    EXPECT_EQ(ValueOf(view, row, store.value_stride()), value) << "the padding of a value is zero";
  }
}

TEST_P(KvStoreTest, FromIsTheViewOfLaterRows) {
  KvStore store = MakeStore();
  const KvStore::View view = store.At(1, 1, {true, 16});
  const std::vector<float> key = RandomFloats(random_, head_dim_);
  store.WriteKey(view, 35, key.data());
  store.WriteValue(view, 35, key.data(), false);
  const KvStore::View later = store.From(view, 32);
  EXPECT_EQ(KeyOf(later, 3), type_.Round(key));
  EXPECT_EQ(ValueOf(later, 3, head_dim_), ValueOf(view, 35, head_dim_));
}

// The kernel may multiply the value after a segment's last one by zero. That value is set to zero,
// unless it lies in the next granule, which may belong to another segment.
TEST_P(KvStoreTest, ValueAfterTheLastIsZero) {
  for (std::int64_t last = 0; last < 32; ++last) {
    KvStore store = MakeStore();
    const KvStore::View view = store.At(2, 1, {true, 0});
    const std::vector<float> old = type_.Round(RandomFloats(random_, head_dim_));
    const std::vector<float> value = type_.Round(RandomFloats(random_, head_dim_));
    for (std::int64_t row = 0; row < 48; ++row) {
      store.WriteValue(view, row, old.data(), false);
    }
    store.WriteValue(view, last, value.data(), true);
    const std::vector<float> zero(static_cast<std::size_t>(head_dim_), 0.0F);
    for (std::int64_t row = 0; row < 48; ++row) {
      std::vector<float> found = ValueOf(view, row, store.value_stride());
      found.resize(zero.size());
      const bool is_next = row == last + 1 && row % kKeyLanes != 0;
      EXPECT_EQ(found, row == last ? value
                       : is_next   ? zero
                                   : old)
          << "row " << row << ", last " << last;
    }
  }
}

// Copies whole granules in every layer and head, and nothing else.
TEST_P(KvStoreTest, CopiesPages) {
  constexpr std::int32_t kPages = 5;
  const auto rows = kPages * proto::kKvPageRows;
  for (const int threads : {1, 3}) {
    KvStore store(kernels_, kLayers, kHeads, head_dim_, rows, kPassRows);
    std::vector<std::pair<std::vector<float>, std::vector<float>>> old;
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        const KvStore::View view = store.At(layer, head, {true, 0});
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::vector<float> key = RandomFloats(random_, head_dim_);
          const std::vector<float> value = RandomFloats(random_, head_dim_);
          store.WriteKey(view, row, key.data());
          store.WriteValue(view, row, value.data(), false);
          old.emplace_back(type_.Round(key), type_.Round(value));
        }
      }
    }
    ThreadPool pool(threads);
    const std::vector<proto::KvCopy> copies = {{64, 256, 17}, {128, 0, 64}};
    store.Copy(copies, pool);
    std::size_t next = 0;
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
      for (std::int64_t head = 0; head < kHeads; ++head, next += static_cast<std::size_t>(rows)) {
        const KvStore::View view = store.At(layer, head, {true, 0});
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::int64_t origin = row < 64                       ? row + 128
                                      : row >= 256 && row < 256 + 32 ? row - 256 + 64
                                                                     : row;
          const auto& expected = old[next + static_cast<std::size_t>(origin)];
          ASSERT_EQ(KeyOf(view, row), expected.first) << row;
          std::vector<float> value = ValueOf(view, row, store.value_stride());
          value.resize(expected.second.size());
          ASSERT_EQ(value, expected.second) << row;
        }
      }
    }
  }
}

TEST_P(KvStoreTest, BytesAreThoseOfItsRooms) {
  const KvStore store = MakeStore();
  const std::int64_t rows = kLayers * proto::KvRows(kKeptRows) + proto::KvRows(kPassRows);
  EXPECT_EQ(KvStore::Bytes(type_.size(), kLayers, kHeads, head_dim_, kKeptRows, kPassRows),
            rows * kHeads * (head_dim_ + store.value_stride()) * type_.size());
}

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const std::int64_t head_dim : {2, 8, 16, 80, 128}) {
    kinds.push_back({head_dim, {false}});
    kinds.push_back({head_dim, {true}});
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, KvStoreTest, ::testing::ValuesIn(Kinds()),
                         ::testing::PrintToStringParamName());

const AttentionKernels& Float32Kernels() { return KernelsFor(DetectCpuFeatures()).attention_f32; }

TEST(KvStore, MayKeepNothing) {
  KvStore store(Float32Kernels(), kLayers, kHeads, 8, 0, 16);
  EXPECT_NE(store.At(2, 1, {false, 0}).keys, nullptr);
  EXPECT_EQ(KvStore::Bytes(4, kLayers, kHeads, 8, 0, 16), 16 * kHeads * (8 + 16) * 4);
}

// The first places of one pass in every head, and nothing else.
TEST(KvStore, TouchesThePlacesOfAPass) {
  testing::DisableHugePages();
  constexpr std::int64_t kHeadDim = 64;
  constexpr std::int64_t kRows = 1024;
  constexpr std::int64_t kTouched = 256;
  constexpr auto kRowBytes = static_cast<std::size_t>(kHeadDim * 4);
  ThreadPool pool(2);
  KvStore store(Float32Kernels(), kLayers, kHeads, kHeadDim, kRows, kRows);
  store.TouchPass(kTouched, pool);
  for (std::int64_t head = 0; head < kHeads; ++head) {
    for (const bool kept : {false, true}) {
      const KvStore::View begin = store.At(0, head, {kept, 0});
      for (const std::byte* of_head : {begin.keys, begin.values}) {
        const testing::PageCount pages = testing::CountPages({of_head, kRows * kRowBytes});
        EXPECT_EQ(pages.resident * kRows, kept ? 0U : pages.all * kTouched);
        EXPECT_EQ(testing::CountPages({of_head, kTouched * kRowBytes}).resident,
                  kept ? 0U : pages.resident);
      }
    }
  }
  KvStore none(Float32Kernels(), kLayers, kHeads, kHeadDim, kRows, 0);
  none.TouchPass(0, pool);
}

TEST(KvStoreDeath, PlacesOutsideAreABrokenInvariant) {
  KvStore store(Float32Kernels(), 1, 1, 8, 32, 16);
  EXPECT_DEATH(store.At(0, 0, {true, 32}), "K/V place");
  EXPECT_DEATH(store.At(0, 0, {false, 16}), "K/V place");
  EXPECT_DEATH(store.At(0, 0, {true, 8}), "K/V place");
  EXPECT_DEATH(store.At(0, 0, {true, -16}), "K/V place");
}

TEST(KvStoreDeath, CopiesThatAreNotOfPagesAreABrokenInvariant) {
  KvStore store(Float32Kernels(), 1, 1, 8, 128, 16);
  ThreadPool pool(1);
  for (const proto::KvCopy& copy :
       {proto::KvCopy{0, 64, 0}, {0, 64, 65}, {0, 48, 5}, {16, 64, 5}, {0, 128, 5}, {64, 64, 5}}) {
    EXPECT_DEATH(store.Copy(std::vector{copy}, pool), "copy");
  }
}

}  // namespace kv_store_test
}  // namespace scorecast::shard
