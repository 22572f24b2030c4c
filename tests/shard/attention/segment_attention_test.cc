// Attention over random plans against a dense computation in float64, by the mask of the oracle.

#include "shard/attention/segment_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/runtime/thread_pool.h"
#include "tests/reference/dense_mask.h"
#include "tests/shard/element_type.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/softmax_oracle.h"

namespace scorecast::shard {
namespace {

using proto::KvPlace;
using proto::Segment;
using proto::SegmentKind;
using testing::ElementType;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

constexpr std::int64_t kLayers = 2;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Heads {
  std::int64_t query = 0;
  std::int64_t kv = 0;
  std::int64_t head_dim = 0;
  ElementType type;

  std::int64_t group_size() const { return query / kv; }
};

/// A packed sequence with queries, keys and values of all rows and heads.
struct Sequence {
  std::vector<Segment> segments;
  bool kept = false;                                     // Where its K/V lies.
  std::vector<std::int32_t> places;                      // [segments]
  std::vector<std::vector<std::vector<float>>> queries;  // [rows][query heads][head_dim]
  std::vector<std::vector<std::vector<float>>> keys;     // [rows][kv heads][head_dim]
  std::vector<std::vector<std::vector<float>>> values;   // [rows][kv heads][head_dim]

  std::int32_t rows() const { return static_cast<std::int32_t>(queries.size()); }
};

/// Rows [begin, end) of a sequence are computed, those before are stored.
struct Part {
  const Sequence* sequence = nullptr;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Output rows of a pass in the order of its parts: [rows][query heads][head_dim].
using Outputs = std::vector<std::vector<std::vector<float>>>;

class SegmentAttentionTest : public ::testing::TestWithParam<Heads> {
 protected:
  /// As they lie in the store: rounded.
  std::vector<std::vector<std::vector<float>>> RandomHeads(std::int32_t rows, std::int64_t heads,
                                                           float size) {
    std::vector<std::vector<std::vector<float>>> all(static_cast<std::size_t>(rows));
    for (auto& row : all) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const auto head = RandomFloats(random_, GetParam().head_dim, size);
        row.push_back(GetParam().type.Round(head));
      }
    }
    return all;
  }

  /// One or two prefixes, blocks and suffixes; lengths around those of tiles of keys and of rows.
  Sequence RandomSequence(bool kept) {
    Sequence sequence;
    sequence.kept = kept;
    const auto add = [&](SegmentKind kind, int most_segments, std::int32_t longest) {
      for (int n = RandomInt(random_, kind == SegmentKind::kPrefix ? 1 : 0, most_segments); n > 0;
           --n) {
        const std::int32_t length =
            RandomInt(random_, 0, 2) == 0 ? 64 : RandomInt(random_, 1, longest);
        sequence.segments.push_back({kind, length, 0});
      }
    };
    add(SegmentKind::kPrefix, 2, 150);
    add(SegmentKind::kBlock, 5, 70);
    add(SegmentKind::kSuffix, 2, 30);
    std::int32_t rows = 0;
    for (const Segment& segment : sequence.segments) {
      rows += segment.length;
      std::int32_t& next = kept ? kept_rows_ : pass_rows_;
      next +=
          proto::kKvGranule * RandomInt(random_, 0, 2);  // Places need not be next to each other.
      sequence.places.push_back(next);
      next += proto::KvRows(segment.length);
    }
    sequence.queries = RandomHeads(rows, GetParam().query, 2);
    sequence.keys = RandomHeads(rows, GetParam().kv, 2);
    sequence.values = RandomHeads(rows, GetParam().kv, 1);
    return sequence;
  }

  /// The plan that computes `parts`; segments that nobody needs are sometimes left out.
  proto::ForwardPlan PlanOf(std::span<const Part> parts) {
    proto::ForwardPlan plan;
    for (const Part& part : parts) {
      proto::PlanSequence& sequence = plan.sequences.emplace_back();
      std::int32_t first = 0;
      for (std::size_t s = 0; s < part.sequence->segments.size(); ++s) {
        const Segment& segment = part.sequence->segments[s];
        proto::PlanSegment planned = {segment.kind, segment.first_position,
                                      std::clamp(part.begin - first, 0, segment.length),
                                      std::clamp(part.end - first, 0, segment.length),
                                      KvPlace{part.sequence->kept, part.sequence->places[s]}};
        const bool is_other_block = segment.kind == SegmentKind::kBlock &&
                                    planned.computed() == 0 &&
                                    part.end <= RowsBefore(*part.sequence, SegmentKind::kSuffix);
        if (first < part.end && !(is_other_block && RandomInt(random_, 0, 1) == 0)) {
          sequence.segments.push_back(planned);
        }
        first += segment.length;
      }
      plan.tokens.resize(plan.tokens.size() + static_cast<std::size_t>(part.end - part.begin));
    }
    return plan;
  }

  static std::int32_t RowsBefore(const Sequence& sequence, SegmentKind kind) {
    std::int32_t rows = 0;
    for (const Segment& segment : sequence.segments) {
      rows += segment.kind < kind ? segment.length : 0;
    }
    return rows;
  }

  /// Computes `parts` on one rank of `ranks`, into the columns of its heads: all rows, or those of
  /// `selected`.
  void ForwardOn(int rank, int ranks, int threads, std::span<const Part> parts,
                 std::span<const std::int32_t> selected, Outputs& outputs) {
    const Heads heads = GetParam();
    proto::ModelConfig config;
    config.num_attention_heads = heads.query;
    config.num_key_value_heads = heads.kv;
    const proto::Partition partition = proto::MakePartition(config, rank, ranks);
    const std::int64_t layer = RandomInt(random_, 0, kLayers - 1);
    const AttentionKernels& kernels = heads.type.KernelsOf(KernelsFor(DetectInstructionSet()));
    KvStore store(kernels, kLayers, partition.kv_heads.size(), heads.head_dim, kept_rows_,
                  pass_rows_);
    FillWithNan(store, partition.kv_heads.size());
    for (const Part& part : parts) {
      StoreRows(part, layer, partition.kv_heads, store);
    }

    const proto::ForwardPlan plan = PlanOf(parts);
    const auto all_rows = static_cast<std::int64_t>(plan.tokens.size());
    RowMap all(all_rows);
    all.Assign(plan);
    RowMap map = all;
    std::vector<std::int32_t> computed(static_cast<std::size_t>(all_rows));
    std::iota(computed.begin(), computed.end(), 0);
    if (!selected.empty()) {
      map.Select(all, selected);
      computed.assign(selected.begin(), selected.end());
    }
    const auto rows = static_cast<std::int64_t>(computed.size());
    const std::int64_t width = partition.heads.size() * heads.head_dim;
    const std::int64_t stride = width + 7;
    std::vector<float> queries(static_cast<std::size_t>(rows * stride), kNan);
    std::vector<float> output(static_cast<std::size_t>(rows * stride), kNan);
    std::vector<const std::vector<std::vector<float>>*> row_queries;
    for (const Part& part : parts) {
      for (std::int32_t row = part.begin; row < part.end; ++row) {
        row_queries.push_back(&part.sequence->queries[static_cast<std::size_t>(row)]);
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto origin = static_cast<std::size_t>(computed[static_cast<std::size_t>(row)]);
      for (std::int64_t h = 0; h < partition.heads.size(); ++h) {
        const auto head = static_cast<std::size_t>(partition.heads.begin + h);
        std::ranges::copy((*row_queries[origin])[head],
                          queries.begin() + row * stride + h * heads.head_dim);
      }
    }
    SegmentAttention attention(partition.heads, partition.kv_heads, heads.group_size(),
                               heads.head_dim, threads);
    ThreadPool pool(threads);
    attention.Forward(plan, map, layer, store, {queries.data(), stride}, {output.data(), stride},
                      pool);

    outputs.resize(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
      auto& row_outputs = outputs[static_cast<std::size_t>(row)];
      row_outputs.resize(static_cast<std::size_t>(heads.query));
      for (std::int64_t h = 0; h < partition.heads.size(); ++h) {
        const auto begin = output.begin() + row * stride + h * heads.head_dim;
        row_outputs[static_cast<std::size_t>(partition.heads.begin + h)].assign(
            begin, begin + heads.head_dim);
      }
      const auto gap = output.begin() + row * stride + width;
      EXPECT_TRUE(std::all_of(gap, gap + (stride - width), [](float f) { return std::isnan(f); }));
    }
  }

  Outputs Forward(int ranks, int threads, std::span<const Part> parts,
                  std::span<const std::int32_t> selected = {}) {
    Outputs outputs;
    for (int rank = 0; rank < ranks; ++rank) {
      ForwardOn(rank, ranks, threads, parts, selected, outputs);
    }
    return outputs;
  }

  /// What is not a row that somebody may see must reach nobody.
  void FillWithNan(KvStore& store, std::int64_t kv_heads) const {
    const std::vector<float> nan(static_cast<std::size_t>(GetParam().head_dim), kNan);
    for (std::int64_t head = 0; head < kv_heads; ++head) {
      for (std::int64_t layer = 0; layer < kLayers; ++layer) {
        for (std::int64_t row = 0; row < kept_rows_; ++row) {
          store.WriteKey(store.At(layer, head, {true, 0}), row, nan.data());
          store.WriteValue(store.At(layer, head, {true, 0}), row, nan.data(), false);
        }
      }
      for (std::int64_t row = 0; row < pass_rows_; ++row) {
        store.WriteKey(store.At(0, head, {false, 0}), row, nan.data());
        store.WriteValue(store.At(0, head, {false, 0}), row, nan.data(), false);
      }
    }
  }

  static void StoreRows(const Part& part, std::int64_t layer, proto::Range kv_heads,
                        KvStore& store) {
    std::int32_t row = 0;
    for (std::size_t s = 0; s < part.sequence->segments.size(); ++s) {
      const KvPlace place = {part.sequence->kept, part.sequence->places[s]};
      const std::int32_t end = std::min(part.sequence->segments[s].length, part.end - row);
      for (std::int32_t r = 0; r < end; ++r, ++row) {
        for (std::int64_t h = 0; h < kv_heads.size(); ++h) {
          const auto head = static_cast<std::size_t>(kv_heads.begin + h);
          const KvStore::View view = store.At(layer, h, place);
          const auto at = static_cast<std::size_t>(row);
          store.WriteKey(view, r, part.sequence->keys[at][head].data());
          store.WriteValue(view, r, part.sequence->values[at][head].data(), r + 1 == end);
        }
      }
    }
  }

  void ExpectDense(const Part& part, std::size_t first_output, const Outputs& outputs) const {
    const Heads heads = GetParam();
    const Sequence& sequence = *part.sequence;
    const auto sees = reference::DenseMask(sequence.segments, std::nullopt);
    const auto most_tiles =
        static_cast<std::int64_t>(sequence.rows() / kTileKeys + sequence.segments.size());
    // As float32 has it: a query is rounded when it has been scaled.
    const float scale = 1.0F / std::sqrt(static_cast<float>(heads.head_dim));
    for (std::int32_t row = part.begin; row < part.end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      for (std::int64_t h = 0; h < heads.query; ++h) {
        const auto kv_head = static_cast<std::size_t>(h / heads.group_size());
        std::vector<testing::VisibleKey> keys;
        for (std::size_t key = 0; key < sees[r].size(); ++key) {
          if (sees[r][key]) {
            keys.push_back(
                {sequence.keys[key][kv_head].data(), sequence.values[key][kv_head].data()});
          }
        }
        const auto head = static_cast<std::size_t>(h);
        std::vector<float> query = sequence.queries[r][head];
        for (float& x : query) {
          x = heads.type.Round(x * scale);
        }
        const testing::SoftmaxRow expected =
            testing::SoftmaxOf(query, keys, most_tiles, heads.type.roundoff());
        const std::vector<float>& found =
            outputs[first_output + r - static_cast<std::size_t>(part.begin)][head];
        for (std::size_t d = 0; d < expected.output.size(); ++d) {
          ASSERT_NEAR(found[d], expected.output[d], expected.tolerance[d])
              << "row " << row << ", head " << h << ", d " << d;
        }
      }
    }
  }

  static void ExpectSameBits(const Outputs& a, const Outputs& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t row = 0; row < a.size(); ++row) {
      for (std::size_t head = 0; head < a[row].size(); ++head) {
        ASSERT_TRUE(SameBits(a[row][head], b[row][head])) << "row " << row << ", head " << head;
      }
    }
  }

  std::mt19937 random_{9};
  std::int32_t kept_rows_ = 16;
  std::int32_t pass_rows_ = 16;
};

TEST_P(SegmentAttentionTest, AgreesWithDenseMask) {
  for (int round = 0; round < 4; ++round) {
    std::vector<Sequence> sequences;
    for (int n = RandomInt(random_, 1, 3); n > 0; --n) {
      sequences.push_back(RandomSequence(RandomInt(random_, 0, 1) == 0));
    }
    std::vector<Part> parts;
    for (const Sequence& sequence : sequences) {
      const std::int32_t begin = RandomInt(random_, 0, sequence.rows() - 1);
      parts.push_back({&sequence, RandomInt(random_, 0, 1) == 0 ? 0 : begin,
                       RandomInt(random_, begin + 1, sequence.rows())});
    }
    const Outputs outputs = Forward(1, 2, parts);
    std::size_t first = 0;
    for (const Part& part : parts) {
      ExpectDense(part, first, outputs);
      first += static_cast<std::size_t>(part.end - part.begin);
    }
  }
}

// However the heads are split over ranks, also where two share a K/V head, and however many
// threads.
TEST_P(SegmentAttentionTest, RanksAndThreadsChangeNoBits) {
  const std::vector<Sequence> sequences = {RandomSequence(true), RandomSequence(false)};
  const std::vector<Part> parts = {{&sequences[0], 0, sequences[0].rows()},
                                   {&sequences[1], 0, sequences[1].rows()}};
  const Outputs expected = Forward(1, 1, parts);
  for (int ranks = 1; ranks <= GetParam().query; ++ranks) {
    ExpectSameBits(Forward(ranks, 1 + ranks % 3, parts), expected);
  }
  ExpectSameBits(Forward(1, 3, parts), expected);
}

// A pass that computes all rows, and passes that each compute some.
TEST_P(SegmentAttentionTest, PartsChangeNoBits) {
  const Sequence sequence = RandomSequence(true);
  const Sequence other = RandomSequence(false);
  const std::vector<Part> whole = {{&sequence, 0, sequence.rows()}};
  const Outputs expected = Forward(1, 2, whole);
  for (int round = 0; round < 3; ++round) {
    Outputs in_parts;
    std::int32_t begin = 0;
    while (begin < sequence.rows()) {
      const std::int32_t end =
          std::min(sequence.rows(), begin + RandomInt(random_, 1, round == 0 ? 20 : 200));
      const std::vector<Part> parts = {{&other, 0, RandomInt(random_, 1, other.rows())},
                                       {&sequence, begin, end}};
      const Outputs outputs = Forward(1, 2, parts);
      in_parts.insert(in_parts.end(), outputs.begin() + parts[0].end, outputs.end());
      begin = end;
    }
    ExpectSameBits(in_parts, expected);
  }
}

// Some rows of a pass, as the last layer computes them.
TEST_P(SegmentAttentionTest, OtherRowsChangeNoBits) {
  const std::vector<Sequence> sequences = {RandomSequence(true), RandomSequence(false)};
  const std::vector<Part> parts = {{&sequences[0], 0, sequences[0].rows()},
                                   {&sequences[1], 0, sequences[1].rows()}};
  const Outputs all = Forward(1, 1, parts);
  for (const int one_in : {2, 20, 100}) {
    std::vector<std::int32_t> selected = {static_cast<std::int32_t>(all.size()) - 1};
    Outputs expected = {all.back()};
    for (std::int32_t row = selected.front() - 1; row >= 0; --row) {
      if (RandomInt(random_, 1, one_in) == 1) {
        selected.insert(selected.begin(), row);
        expected.insert(expected.begin(), all[static_cast<std::size_t>(row)]);
      }
    }
    ExpectSameBits(Forward(2, 2, parts, selected), expected);
  }
}

// Blocks do not see each other: a broken one breaks the suffixes, which see it, and no other. With
// a suffix only its keys are broken here: a broken value may break what is computed between its
// block and the suffix as well, whose scores are of the same request.
TEST_P(SegmentAttentionTest, BrokenBlockStaysInIt) {
  for (const bool has_suffix : {false, true}) {
    Sequence sequence;
    sequence.segments = {{SegmentKind::kPrefix, 20, 0},
                         {SegmentKind::kBlock, 5, 0},
                         {SegmentKind::kBlock, 9, 0},
                         {SegmentKind::kBlock, 3, 0}};
    if (has_suffix) {
      sequence.segments.push_back({SegmentKind::kSuffix, 4, 0});
    }
    const std::int32_t rows = has_suffix ? 41 : 37;
    sequence.places = {0, 32, 48, 64, 80};
    pass_rows_ = 96;
    sequence.queries = RandomHeads(rows, GetParam().query, 1);
    sequence.keys = RandomHeads(rows, GetParam().kv, 1);
    sequence.values = RandomHeads(rows, GetParam().kv, 1);
    const std::vector<Part> parts = {{&sequence, 0, rows}};
    const Outputs expected = Forward(1, 1, parts);
    for (std::size_t row = 25; row < 34; ++row) {
      for (auto* heads : {&sequence.keys[row], &sequence.values[row]}) {
        const bool is_value = heads == &sequence.values[row];
        for (std::vector<float>& head : *heads) {
          head.assign(head.size(), is_value && has_suffix ? 1.0F : kNan);
        }
      }
    }
    const Outputs found = Forward(1, 1, parts);
    for (std::size_t row = 0; row < found.size(); ++row) {
      const bool sees_it = (row >= 25 && row < 34) || row >= 37;
      for (std::size_t head = 0; head < found[row].size(); ++head) {
        if (sees_it) {
          EXPECT_TRUE(std::isnan(found[row][head][0])) << "row " << row;
        } else {
          EXPECT_TRUE(SameBits(found[row][head], expected[row][head])) << "row " << row;
        }
      }
    }
  }
}

std::vector<Heads> AllHeads() {
  std::vector<Heads> all;
  for (const bool is_bf16 : {false, true}) {
    for (const Heads& heads : {Heads{6, 2, 8}, Heads{9, 3, 16}, Heads{8, 1, 80}, Heads{4, 4, 128},
                               Heads{5, 1, 6}, Heads{4, 2, 24}}) {
      all.push_back({heads.query, heads.kv, heads.head_dim, {is_bf16}});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Heads, SegmentAttentionTest, ::testing::ValuesIn(AllHeads()),
                         [](const auto& heads) {
                           return std::to_string(heads.param.query) + "_over_" +
                                  std::to_string(heads.param.kv) + "_of_" +
                                  std::to_string(heads.param.head_dim) + "_" +
                                  heads.param.type.name();
                         });

}  // namespace
}  // namespace scorecast::shard
