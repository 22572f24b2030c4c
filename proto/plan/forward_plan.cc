#include "proto/plan/forward_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::proto {

void SetModelLimits(const ModelConfig& config, int ranks, PlanLimits& limits, Sharding sharding) {
  limits.ranks = ranks;
  limits.normalizers = sharding == Sharding::kInBlocks
                           ? static_cast<std::int32_t>(AllVocabularyBlocks(config).size())
                           : ranks;
  limits.vocabulary = config.output_size();
  if (config.read_head) {
    limits.pooled_rows = RowsPooledBy(config.read_head->pooling);
    limits.row_values = config.hidden_size;
    limits.pooled_values =
        static_cast<std::int64_t>(config.read_head->pooling.size()) * config.hidden_size;
  }
  limits.layers = static_cast<std::int32_t>(config.num_hidden_layers());
  limits.reach = {.both_sides = config.bidirectional};
  std::size_t windowed = 0;
  for (const LayerConfig& layer : config.layers) {
    if (layer.sliding_window) {
      limits.reach.window = *layer.sliding_window;  // The same in all layers that have one.
      ++windowed;
    }
  }
  if (windowed > 0) {
    limits.reach.windowed_share =
        static_cast<double>(windowed) / static_cast<double>(config.layers.size());
  }
}

std::uint32_t TokenBucket(std::int64_t rows) {
  return std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 32)));
}

PlanLimits LimitsOfBuckets(const PlanLimits& limits, std::uint32_t bucket,
                           std::uint32_t read_bucket) {
  const auto at_most = [](std::int32_t limit, std::uint32_t rows) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(limit, rows));
  };
  PlanLimits of_buckets = limits;
  of_buckets.max_rows = at_most(limits.max_rows, bucket);
  of_buckets.max_reads = at_most(limits.max_reads, read_bucket);
  return of_buckets;
}

PlanLimits TouchedLimits(const PlanLimits& limits) {
  PlanLimits touched = LimitsOfBuckets(limits, kTouchedBucket, kTouchedBucket);
  touched.pass_kv_rows = std::min(limits.pass_kv_rows, std::int32_t{4 * kTouchedBucket});
  touched.kept_kv_rows = 0;
  touched.longest_text = 0;
  touched.text_rows = 0;
  return touched;
}

std::int64_t LogitBytes(const ForwardPlan& plan, const PlanLimits& limits) {
  std::int64_t bytes = 0;
  for (const PlanRead& read : plan.reads) {
    const std::size_t labels =
        read.is_pooled() ? 0
                         : plan.label_lists.at(static_cast<std::size_t>(read.label_list)).size();
    bytes += ReadBytes(read, labels, limits);
  }
  return bytes;
}

std::int64_t RowsRead(const ForwardPlan& plan) {
  std::int64_t rows = 0;
  for (const PlanRead& read : plan.reads) {
    rows += RowsOfRead(read);
  }
  return rows;
}

std::int64_t LargestReadBytes(const PlanLimits& limits) {
  if (limits.pooled_values > 0) {
    return ReadBytes(PlanRead{.first_row = 0}, 0, limits);
  }
  const PlanRead read{.normalizer = true,
                      .top_k = static_cast<std::int32_t>(limits.vocabulary),
                      .draw = Draw{.count = Draw::kMostTokens},
                      .target = 0,
                      .ranks_target = true,
                      .bin_width = 1,
                      .masses = {.places = std::vector<TokenPlace>(PlaceMasses::kMostPlaces)}};
  return ReadBytes(read, static_cast<std::size_t>(limits.vocabulary), limits);
}

void CheckBuckets(const ForwardPlan& plan, const PlanLimits& limits) {
  const auto is_bucket = [](std::uint32_t bucket, std::int32_t limit) {
    return bucket == TokenBucket(bucket) && bucket <= TokenBucket(limit);
  };
  Check(is_bucket(plan.bucket, limits.max_rows) && is_bucket(plan.read_bucket, limits.max_reads),
        "a plan's buckets are those of the engine");
  const std::int64_t rows_read = RowsRead(plan);
  Check(plan.tokens.size() <= plan.bucket && std::cmp_less_equal(rows_read, plan.read_bucket),
        "a plan's rows and reads fit its buckets");
  Check(std::cmp_less_equal(plan.tokens.size(), limits.max_rows) && rows_read <= limits.max_reads,
        "a plan keeps its limits");
  Check(LogitBytes(plan, limits) <= limits.max_logit_bytes,
        "a plan's partial logits keep their limit");
  if (plan.step) {
    Check(plan.sequences.size() == 1 && plan.sequences.front().segments.size() == 1 &&
              plan.copies.empty(),
          "a step computes rows of one text");
    const PlanSegment& text = plan.sequences.front().segments.front();
    const auto& [begin, end] = *plan.step;
    Check(0 <= text.compute_begin && text.compute_begin <= text.compute_end && 0 <= text.later &&
              text.keys() <= limits.longest_text && text.stored == text.compute_begin,
          "a step computes rows of a text");
    Check(text.kv.kept && 0 <= text.kv.first && text.kv.first % kKvPageRows == 0 &&
              text.kv.first <= limits.text_rows - text.keys(),
          "a step's text has a place in the buffers for texts");
    Check(0 <= begin && begin < end && end <= limits.layers + 1 &&
              (end == begin + 1 || text.computed() == text.keys()),
          "a step has the stages of a model, and all rows of a text if there are several");
    Check(plan.reads.empty() || end == limits.layers + 1, "only the last stage has reads");
  }
}

}  // namespace scorecast::proto
