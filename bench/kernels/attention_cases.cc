#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "bench/bench_engine.h"
#include "bench/kernels/kernel_cases.h"
#include "bench/roofline/random_bytes.h"
#include "bench/workload.h"
#include "bench/workload_plans.h"
#include "proto/model/partition.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/attention/segment_attention.h"

namespace scorecast::bench {
namespace {

constexpr std::int64_t kTokens = 8192;
constexpr std::int64_t kWindow = 4096;
constexpr std::int64_t kRows = 96;
constexpr std::int64_t kQueryHeads = 4;
constexpr std::int64_t kKvHeads = 2;

std::vector<float> RandomRow(std::int64_t n, RandomNumbers& random) {
  std::vector<float> row(static_cast<std::size_t>(n));
  std::generate(row.begin(), row.end(), [&] { return random.Next(); });
  return row;
}

proto::ModelConfig Config(std::int64_t head_dim, bool has_softcap) {
  proto::ModelConfig config;
  config.hidden_size = kQueryHeads * head_dim;
  config.num_attention_heads = kQueryHeads;
  config.num_key_value_heads = kKvHeads;
  config.head_dim = head_dim;
  config.intermediate_size = 1;
  config.vocab_size = 1;
  config.layers.resize(1);
  if (has_softcap) {
    config.attn_logit_softcapping = 50.0;
  }
  return config;
}

/// Attention over a text whose keys and values are stored already.
class StoredText {
 public:
  StoredText(const shard::AttentionKernels& kernels, std::int64_t head_dim,
             std::optional<std::int64_t> window, bool has_softcap, shard::ThreadPool& pool)
      : window_(window),
        pool_(pool),
        plan_(PackedPlan({.query_tokens = kTokens, .items = 0, .item_tokens = 0}, kTokens,
                         kBenchLimits)),
        rows_(kTokens),
        store_(kernels, 1, kKvHeads, head_dim, 0, kBenchLimits.pass_kv_rows),
        attention_(Config(head_dim, has_softcap),
                   proto::MakePartition(Config(head_dim, has_softcap), 0, 1), pool.threads()),
        width_(kQueryHeads * head_dim),
        queries_(RandomRow(kRows * width_, random_)),
        outputs_(queries_.size()) {
    shard::RowMap all(kTokens);
    all.Assign(plan_);
    for (const shard::RowPlace& place : all.rows()) {
      Store(place, head_dim);
    }
    std::vector<std::int32_t> last(kRows);
    std::iota(last.begin(), last.end(), static_cast<std::int32_t>(kTokens - kRows));
    rows_.Select(all, last);
  }

  /// Of queries and keys, and of weights and values, for the keys that the rows see.
  double Operations() const {
    double keys = 0;
    for (const shard::RowPlace& row : rows_.rows()) {
      keys +=
          static_cast<double>(std::min<std::int64_t>(row.position + 1, window_.value_or(kTokens)));
    }
    return keys * 4 * static_cast<double>(width_);
  }

  void Forward() {
    attention_.Forward(plan_, rows_, 0, window_, store_, {queries_.data(), width_},
                       {outputs_.data(), width_}, pool_);
  }

 private:
  void Store(const shard::RowPlace& place, std::int64_t head_dim) {
    const proto::PlanSegment& segment = plan_.sequences[static_cast<std::size_t>(place.sequence)]
                                            .segments[static_cast<std::size_t>(place.segment)];
    for (std::int64_t head = 0; head < kKvHeads; ++head) {
      const shard::KvStore::View view = store_.At(0, head, segment.kv);
      store_.WriteKey(view, place.row_in_segment, RandomRow(head_dim, random_).data());
      store_.WriteValue(view, place.row_in_segment, RandomRow(head_dim, random_).data(),
                        place.row_in_segment + 1 == segment.compute_end);
    }
  }

  RandomNumbers random_;
  const std::optional<std::int64_t> window_;
  shard::ThreadPool& pool_;
  const proto::ForwardPlan plan_;
  shard::RowMap rows_;
  shard::KvStore store_;
  shard::SegmentAttention attention_;
  const std::int64_t width_;
  const std::vector<float> queries_;
  std::vector<float> outputs_;
};

}  // namespace

std::vector<KernelCase> AttentionCases(const shard::AttentionKernels& kernels,
                                       shard::ThreadPool& pool) {
  std::vector<KernelCase> cases;
  for (const std::int64_t head_dim : {64, 128, 256}) {
    const auto add = [&](const std::string& kind, std::optional<std::int64_t> window,
                         bool has_softcap) {
      cases.push_back(
          {"attention, heads of " + std::to_string(head_dim) + kind, [=, &pool] {
             auto text = std::make_shared<StoredText>(kernels, head_dim, window, has_softcap, pool);
             return KernelRun{.operations = text->Operations(), .run = [text] { text->Forward(); }};
           }});
    };
    add("", std::nullopt, false);
    add(", window", kWindow, false);
    add(", soft-cap", std::nullopt, true);
  }
  return cases;
}

}  // namespace scorecast::bench
