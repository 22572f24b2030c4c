#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/attention/segment_attention.h"
#include "shard/runtime/thread_pool.h"
#include "tests/reference/dense_mask.h"
#include "tests/shard/element_type.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/softmax_oracle.h"

namespace scorecast::shard {

inline constexpr std::int64_t kStoreLayers = 2;
inline constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

struct Heads {
  std::int64_t query = 0;
  std::int64_t kv = 0;
  std::int64_t head_dim = 0;
  testing::ElementType type;

  std::int64_t group_size() const { return query / kv; }
};

inline void PrintTo(const Heads& heads, std::ostream* out) {
  *out << heads.query << "_over_" << heads.kv << "_of_" << heads.head_dim << "_"
       << heads.type.name();
}

/// A packed sequence with queries, keys and values of all rows and heads.
struct Sequence {
  std::vector<proto::Segment> segments;
  proto::BlockWeighting weighting;
  bool kept = false;                                     // Whether its K/V outlives the pass.
  std::vector<std::int32_t> places;                      // [segments]
  std::vector<std::vector<std::vector<float>>> queries;  // [rows][query heads][head_dim]
  std::vector<std::vector<std::vector<float>>> keys;     // [rows][kv heads][head_dim]
  std::vector<std::vector<std::vector<float>>> values;   // [rows][kv heads][head_dim]

  std::int32_t rows() const { return static_cast<std::int32_t>(queries.size()); }
};

/// Rows [begin, end) of a sequence are computed. The rows before `begin` are already stored.
struct Part {
  const Sequence* sequence = nullptr;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Output rows of a pass in the order of its parts: [rows][query heads][head_dim].
using Outputs = std::vector<std::vector<std::vector<float>>>;

/// Attention passes over random sequences with hand-made plans, and the results to expect.
class SegmentAttentionTest : public ::testing::TestWithParam<Heads> {
 protected:
  /// Random heads, rounded in the same way as in the store.
  std::vector<std::vector<std::vector<float>>> RandomHeads(std::int32_t rows, std::int64_t heads,
                                                           float size) {
    std::vector<std::vector<std::vector<float>>> all(static_cast<std::size_t>(rows));
    for (auto& row : all) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const auto head = testing::RandomFloats(random_, GetParam().head_dim, size);
        row.push_back(GetParam().type.Round(head));
      }
    }
    return all;
  }

  /// Random prefixes, blocks and suffixes, with lengths around those of tiles of keys and of rows.
  Sequence RandomSequence(bool kept) {
    Sequence sequence;
    sequence.kept = kept;
    const auto add = [&](proto::SegmentKind kind, int most_segments, std::int32_t longest) {
      for (int n = testing::RandomInt(random_, kind == proto::SegmentKind::kPrefix ? 1 : 0,
                                      most_segments);
           n > 0; --n) {
        const std::int32_t length =
            testing::RandomInt(random_, 0, 2) == 0 ? 64 : testing::RandomInt(random_, 1, longest);
        const bool continues = !sequence.segments.empty() &&
                               sequence.segments.back().kind == kind &&
                               testing::RandomInt(random_, 0, 2) == 0;
        sequence.segments.push_back({kind, length, 0, continues});
      }
    };
    if (testing::RandomInt(random_, 0, 1) == 0) {
      sequence.weighting = {0.6F, 1.7F};
    }
    add(proto::SegmentKind::kPrefix, 2, 150);
    add(proto::SegmentKind::kBlock, 5, 70);
    add(proto::SegmentKind::kSuffix, 2, 30);
    std::int32_t rows = 0;
    for (const proto::Segment& segment : sequence.segments) {
      rows += segment.length;
    }
    GivePlaces(sequence);
    sequence.queries = RandomHeads(rows, GetParam().query, 2);
    sequence.keys = RandomHeads(rows, GetParam().kv, 2);
    sequence.values = RandomHeads(rows, GetParam().kv, 1);
    return sequence;
  }

  /// One text.
  Sequence RandomText(std::int32_t rows) {
    Sequence text;
    text.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
    GivePlaces(text);
    text.queries = RandomHeads(rows, GetParam().query, 2);
    text.keys = RandomHeads(rows, GetParam().kv, 2);
    text.values = RandomHeads(rows, GetParam().kv, 1);
    return text;
  }

  /// Assigns places, with gaps between some of them.
  void GivePlaces(Sequence& sequence) {
    sequence.places.clear();
    for (const proto::Segment& segment : sequence.segments) {
      std::int32_t& next = sequence.kept ? kept_rows_ : pass_rows_;
      next += proto::kKvGranule * testing::RandomInt(random_, 0, 2);
      sequence.places.push_back(next);
      next += proto::KvRows(segment.length);
    }
    if (testing::RandomInt(random_, 0, 1) == 0) {
      // Places need not be in the order of the segments: segments of equal length swap theirs.
      for (std::size_t s = 1; s < sequence.segments.size(); ++s) {
        if (sequence.segments[s].length == sequence.segments[s - 1].length) {
          std::swap(sequence.places[s], sequence.places[s - 1]);
        }
      }
    }
  }

  /// The same sequence with its segments in pages.
  Sequence InPages(const Sequence& whole) {
    Sequence cut = whole;
    cut.segments.clear();
    for (const proto::Segment& segment : whole.segments) {
      for (std::int32_t begin = 0; begin < segment.length; begin += proto::kKvPageRows) {
        cut.segments.push_back({segment.kind, std::min(segment.length - begin, proto::kKvPageRows),
                                segment.first_position + begin, begin > 0 || segment.continues});
      }
    }
    GivePlaces(cut);
    return cut;
  }

  /// The plan that computes `parts`. It sometimes leaves out segments that no computed row sees.
  proto::ForwardPlan PlanOf(std::span<const Part> parts) {
    proto::ForwardPlan plan;
    for (const Part& part : parts) {
      proto::PlanSequence& sequence = plan.sequences.emplace_back();
      sequence.block_weighting = part.sequence->weighting;
      std::int32_t first = 0;
      bool leaves_out = false;  // Whether the current chain is left out.
      for (std::size_t s = 0; s < part.sequence->segments.size(); ++s) {
        const proto::Segment& segment = part.sequence->segments[s];
        const std::int32_t begin = std::clamp(part.begin - first, 0, segment.length);
        const proto::PlanSegment planned = {
            segment.kind,
            segment.continues,
            segment.first_position,
            begin,
            begin,
            std::clamp(part.end - first, 0, segment.length),
            proto::KvPlace{part.sequence->kept, part.sequence->places[s]}};
        if (!segment.continues) {
          leaves_out = segment.kind == proto::SegmentKind::kBlock &&
                       ChainEnd(*part.sequence, s) <= part.begin &&
                       part.end <= RowsBefore(*part.sequence, proto::SegmentKind::kSuffix) &&
                       testing::RandomInt(random_, 0, 1) == 0;
        }
        if (first < part.end && !leaves_out) {
          sequence.segments.push_back(planned);
        }
        first += segment.length;
      }
      plan.tokens.resize(plan.tokens.size() + static_cast<std::size_t>(part.end - part.begin));
    }
    return plan;
  }

  /// Row at which the chain that begins with segment s ends.
  static std::int32_t ChainEnd(const Sequence& sequence, std::size_t s) {
    std::int32_t end = 0;
    for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
      if (i > s && !sequence.segments[i].continues) {
        break;
      }
      end += sequence.segments[i].length;
    }
    return end;
  }

  static std::int32_t RowsBefore(const Sequence& sequence, proto::SegmentKind kind) {
    std::int32_t rows = 0;
    for (const proto::Segment& segment : sequence.segments) {
      rows += segment.kind < kind ? segment.length : 0;
    }
    return rows;
  }

  /// Computes `parts` on one rank of `ranks` into the columns of its heads: all rows, or only those
  /// in `selected`.
  void ForwardOn(int rank, int ranks, int threads, std::span<const Part> parts,
                 std::span<const std::int32_t> selected, Outputs& outputs) {
    const Heads heads = GetParam();
    proto::ModelConfig config;
    config.num_attention_heads = heads.query;
    config.num_key_value_heads = heads.kv;
    config.head_dim = heads.head_dim;
    config.query_scale = query_scale_;
    config.attn_logit_softcapping = softcap_;
    config.bidirectional = bidirectional_;
    const proto::Partition partition = proto::MakePartition(config, rank, ranks);
    const std::int64_t layer = testing::RandomInt(random_, 0, kStoreLayers - 1);
    const AttentionKernels& kernels = heads.type.KernelsOf(KernelsFor(DetectCpuFeatures()));
    KvStore store(kernels, kStoreLayers, partition.kv_heads.size(), heads.head_dim, kept_rows_,
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
    std::vector<float> queries(static_cast<std::size_t>(rows * stride), kNotANumber);
    std::vector<float> output(static_cast<std::size_t>(rows * stride), kNotANumber);
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
    SegmentAttention attention(config, partition, threads);
    ThreadPool pool(threads);
    attention.Forward(plan, map, layer, window_, store, {queries.data(), stride},
                      {output.data(), stride}, pool);

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

  /// Fills the store with NaN: storage that no row may see must not affect any result.
  void FillWithNan(KvStore& store, std::int64_t kv_heads) const {
    const std::vector<float> nan(static_cast<std::size_t>(GetParam().head_dim), kNotANumber);
    for (std::int64_t head = 0; head < kv_heads; ++head) {
      for (std::int64_t layer = 0; layer < kStoreLayers; ++layer) {
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
      const proto::KvPlace place = {part.sequence->kept, part.sequence->places[s]};
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
    const auto sees = reference::DenseMask(sequence.segments, window_, bidirectional_);
    std::vector<proto::SegmentKind> kinds;
    for (const proto::Segment& segment : sequence.segments) {
      kinds.insert(kinds.end(), static_cast<std::size_t>(segment.length), segment.kind);
    }
    const auto most_tiles =
        static_cast<std::int64_t>(sequence.rows() / kTileKeys + sequence.segments.size());
    // Computed in float32, because a query is rounded after it has been scaled.
    const float scale = query_scale_ != 0 ? static_cast<float>(query_scale_)
                                          : 1.0F / std::sqrt(static_cast<float>(heads.head_dim));
    const auto softcap = static_cast<float>(softcap_.value_or(0));
    for (std::int32_t row = part.begin; row < part.end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      for (std::int64_t h = 0; h < heads.query; ++h) {
        const auto kv_head = static_cast<std::size_t>(h / heads.group_size());
        const auto head = static_cast<std::size_t>(h);
        const bool is_weighted =
            !sequence.weighting.is_plain() && kinds[r] == proto::SegmentKind::kSuffix;
        std::vector<testing::VisibleKey> keys;
        std::vector<testing::VisibleKey> weighted_keys;
        for (std::size_t key = 0; key < sees[r].size(); ++key) {
          if (sees[r][key]) {
            const bool is_apart = is_weighted && kinds[key] == proto::SegmentKind::kBlock;
            (is_apart ? weighted_keys : keys)
                .push_back(
                    {sequence.keys[key][kv_head].data(), sequence.values[key][kv_head].data()});
          }
        }
        // Scores are soft-capped before they are divided by the temperature.
        const auto softmax = [&](float temperature, std::span<const testing::VisibleKey> of) {
          const float factor = scale / (softcap_ ? softcap : temperature);
          std::vector<float> query = sequence.queries[r][head];
          for (float& x : query) {
            x = heads.type.Round(x * factor);
          }
          return testing::SoftmaxOf(query, of, most_tiles, heads.type.roundoff(),
                                    softcap_ ? softcap / temperature : 0);
        };
        testing::SoftmaxRow expected = softmax(1, keys);
        if (!weighted_keys.empty()) {
          const float temperature = sequence.weighting.temperature;
          expected = testing::MergedSoftmax(expected, softmax(temperature, weighted_keys),
                                            temperature, sequence.weighting.scale);
        }
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
        ASSERT_TRUE(testing::SameBits(a[row][head], b[row][head]))
            << "row " << row << ", head " << head;
      }
    }
  }

  std::mt19937 random_{9};
  std::optional<std::int64_t> window_;
  double query_scale_ = 0;
  std::optional<double> softcap_;
  bool bidirectional_ = false;
  std::int32_t kept_rows_ = 16;
  std::int32_t pass_rows_ = 16;
};

}  // namespace scorecast::shard
