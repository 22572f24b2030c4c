#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/element_type.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/softmax_oracle.h"

namespace scorecast::shard {

// A head's dimension is even.
inline constexpr std::array<std::int64_t, 9> kHeadDims = {8, 10, 16, 24, 32, 64, 72, 80, 128};
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline std::int64_t RoundUp(std::int64_t n) { return (n + kKeyLanes - 1) / kKeyLanes * kKeyLanes; }

/// Keys and values of one tile, as plain rows and in the kernel's layout.
struct Tile {
  /// `key_count` keys; the arrays are no larger than what the kernel may touch.
  Tile(testing::ElementType element_type, std::mt19937& random, std::int64_t dim,
       std::int64_t key_count)
      : type(element_type), head_dim(dim), count(key_count) {
    for (std::int64_t i = 0; i < count; ++i) {
      plain_keys.push_back(type.Round(testing::RandomFloats(random, head_dim, 2)));
      plain_values.push_back(type.Round(testing::RandomFloats(random, head_dim)));
    }
    Pack();
  }

  void Pack() {
    keys.resize(static_cast<std::size_t>(RoundUp(count) * head_dim * type.size()));
    // The kernel reads the unused lanes of the last group of keys, but they must have no effect.
    for (std::int64_t i = 0; i < RoundUp(count) * head_dim; ++i) {
      type.Put(kNan, i, keys.data());
    }
    const std::int64_t pairs = (count + type.pair() - 1) / type.pair();
    values.assign(static_cast<std::size_t>(pairs * RoundUp(head_dim) * type.pair() * type.size()),
                  std::byte{0});
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t d = 0; d < head_dim; ++d) {
        const auto row = static_cast<std::size_t>(i);
        type.Put(plain_keys[row][static_cast<std::size_t>(d)], type.KeyIndex(i, d, head_dim),
                 keys.data());
        type.Put(plain_values[row][static_cast<std::size_t>(d)],
                 type.ValueIndex(i, d, RoundUp(head_dim)), values.data());
      }
    }
  }

  testing::ElementType type;
  std::int64_t head_dim;
  std::int64_t count;
  std::vector<std::vector<float>> plain_keys;
  std::vector<std::vector<float>> plain_values;
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
};

/// A query row and its sums so far.
struct Row {
  bool SameSums(const Row& other) const {
    return testing::SameBits(output, other.output) && testing::SameBits(state, other.state);
  }
  float maximum() const { return state[0]; }
  float sum() const { return std::accumulate(state.begin() + 1, state.end(), 0.0F); }

  std::vector<float> query;
  std::vector<float> output;
  std::vector<float> state;
};

struct Kind {
  KernelSet set;
  testing::ElementType type;
};

inline void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.set.name << "_over_" << kind.type.name();
}

class AttendTile : public ::testing::TestWithParam<Kind> {
 protected:
  Row RandomRow(std::int64_t head_dim, float size = 1) {
    Row row = {type_.Round(testing::RandomFloats(random_, head_dim, size)),
               std::vector<float>(static_cast<std::size_t>(RoundUp(head_dim)), 0.0F),
               std::vector<float>(kRowState, 0.0F)};
    row.state[0] = kNoScore;
    return row;
  }
  std::vector<Row> RandomRows(std::int64_t rows, std::int64_t head_dim, float size = 1) {
    std::vector<Row> random;
    for (std::int64_t r = 0; r < rows; ++r) {
      random.push_back(RandomRow(head_dim, size));
    }
    return random;
  }
  Tile RandomTile(std::int64_t head_dim, std::int64_t count = kTileKeys) {
    return Tile(type_, random_, head_dim, count);
  }
  std::vector<int> RandomVisible(std::size_t rows, int most) {
    std::vector<int> visible;
    for (std::size_t r = 0; r < rows; ++r) {
      visible.push_back(
          testing::RandomInt(random_, 0, 3) == 0 ? 0 : testing::RandomInt(random_, 1, most));
    }
    return visible;
  }

  /// Attends `rows` in one call of the kernel, in arrays of exactly their size.
  void Attend(const Tile& tile, std::span<Row> rows, std::span<const int> visible,
              std::span<const int> hidden = {}) {
    const std::int64_t head_dim = tile.head_dim;
    std::vector<std::byte> queries(rows.size() *
                                   static_cast<std::size_t>(head_dim * kernels_.query_size));
    std::vector<float> outputs;
    std::vector<float> states;
    std::int64_t at = 0;
    for (const Row& row : rows) {
      for (const float x : row.query) {
        query_type_.Put(x, at++, queries.data());
      }
      outputs.insert(outputs.end(), row.output.begin(), row.output.end());
      states.insert(states.end(), row.state.begin(), row.state.end());
    }
    const std::vector<int> seen(visible.begin(), visible.end());
    AttentionTile attended;
    attended.head_dim = head_dim;
    attended.keys = tile.keys.data();
    attended.values = tile.values.data();
    attended.value_stride = RoundUp(head_dim);
    attended.rows = static_cast<std::int64_t>(rows.size());
    attended.queries = queries.data();
    attended.visible = seen.data();
    const std::vector<int> unseen(hidden.begin(), hidden.end());
    attended.hidden = unseen.empty() ? nullptr : unseen.data();
    attended.softcap = softcap_;
    attended.outputs = outputs.data();
    attended.states = states.data();
    kernels_.attend(attended);
    auto output = outputs.begin();
    auto state = states.begin();
    for (Row& row : rows) {
      std::copy_n(output, row.output.size(), row.output.begin());
      std::copy_n(state, row.state.size(), row.state.begin());
      output += static_cast<std::ptrdiff_t>(row.output.size());
      state += kRowState;
    }
  }
  void AttendAlone(const Tile& tile, Row& row, int visible) {
    Attend(tile, {&row, 1}, {&visible, 1});
  }

  void ExpectSoftmax(const Row& row, std::span<const testing::VisibleKey> keys,
                     std::int64_t tiles) const {
    const testing::SoftmaxRow expected =
        testing::SoftmaxOf(row.query, keys, tiles, type_.roundoff(), softcap_);
    for (std::size_t d = 0; d < expected.output.size(); ++d) {
      ASSERT_NEAR(row.output[d] / row.sum(), expected.output[d], expected.tolerance[d])
          << "head_dim " << row.query.size() << ", keys " << keys.size() << ", d " << d;
    }
    for (std::size_t d = expected.output.size(); d < row.output.size(); ++d) {
      ASSERT_EQ(row.output[d], 0) << "the padding of a row";
    }
  }

  static void Append(const Tile& tile, int visible, std::vector<testing::VisibleKey>& keys,
                     int hidden = 0) {
    for (auto i = static_cast<std::size_t>(hidden); i < static_cast<std::size_t>(visible); ++i) {
      keys.push_back({tile.plain_keys[i].data(), tile.plain_values[i].data()});
    }
  }

  const testing::ElementType type_ = GetParam().type;
  const AttentionKernels& kernels_ = type_.KernelsOf(*GetParam().set.kernels);
  /// Queries of float32 are also rounded to bfloat16 if the keys are bfloat16.
  const testing::ElementType query_type_ = {kernels_.query_size == 2};
  std::mt19937 random_{2};
  float softcap_ = 0;
};

/// Every kernel set, with either type of elements.
inline std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const KernelSet& set : UsableKernelSets()) {
    kinds.push_back({set, {false}});
    kinds.push_back({set, {true}});
  }
  return kinds;
}

}  // namespace scorecast::shard
