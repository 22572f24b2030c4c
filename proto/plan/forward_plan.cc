#include "proto/plan/forward_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::proto {

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
  return touched;
}

std::int64_t LogitBytes(const ForwardPlan& plan, const PlanLimits& limits) {
  std::int64_t bytes = 0;
  for (const PlanRead& read : plan.reads) {
    const LabelList& labels = plan.label_lists.at(static_cast<std::size_t>(read.label_list));
    bytes += ReadBytes(read, labels.size(), limits);
  }
  return bytes;
}

std::int64_t LargestReadBytes(const PlanLimits& limits) {
  const PlanRead read{
      .normalizer = true, .top_k = static_cast<std::int32_t>(limits.vocabulary), .draw = Draw{}};
  return ReadBytes(read, static_cast<std::size_t>(limits.vocabulary), limits);
}

void CheckBuckets(const ForwardPlan& plan, const PlanLimits& limits) {
  const auto is_bucket = [](std::uint32_t bucket, std::int32_t limit) {
    return bucket == TokenBucket(bucket) && bucket <= TokenBucket(limit);
  };
  Check(is_bucket(plan.bucket, limits.max_rows) && is_bucket(plan.read_bucket, limits.max_reads),
        "a plan's buckets are those of the engine");
  Check(plan.tokens.size() <= plan.bucket && plan.reads.size() <= plan.read_bucket,
        "a plan's rows and reads fit its buckets");
  Check(std::cmp_less_equal(plan.tokens.size(), limits.max_rows) &&
            std::cmp_less_equal(plan.reads.size(), limits.max_reads),
        "a plan keeps its limits");
  Check(LogitBytes(plan, limits) <= limits.max_logit_bytes,
        "a plan's partial logits keep their limit");
}

}  // namespace scorecast::proto
