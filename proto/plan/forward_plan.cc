#include "proto/plan/forward_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::proto {

std::uint32_t TokenBucket(std::int64_t rows) {
  return std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 32)));
}

PlanLimits LimitsOfBucket(const PlanLimits& limits, std::uint32_t bucket) {
  const auto at_most = [bucket](std::int32_t limit, std::int64_t times) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(limit, times * bucket));
  };
  return {.max_rows = at_most(limits.max_rows, 1),
          .max_reads = at_most(limits.max_reads, 1),
          .pass_kv_rows = at_most(limits.pass_kv_rows, kKvGranule),
          .kept_kv_rows = 0};
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
}

}  // namespace scorecast::proto
