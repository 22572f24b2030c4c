#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "proto/plan/cluster.h"
#include "proto/plan/cluster_status.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// A cluster with a bidirectional model of four layers. A text's embedding is one number, the sum
/// of its tokens. Plans are computed when told. All calls come from one thread.
class SumCluster : public proto::Cluster {
 public:
  static constexpr proto::PlanLimits kLimits{.max_rows = 256,
                                             .max_reads = 256,
                                             .pass_kv_rows = 1024,
                                             .text_rows = 1000,
                                             .vocabulary = 1,
                                             .pooled_rows = proto::PooledRows::kAll,
                                             .pooled_values = 1,
                                             .row_values = 1,
                                             .layers = 4,
                                             .reach = {.both_sides = true}};

  void Submit(proto::ForwardPlan plan, PlanDone done) override {
    proto::CheckBuckets(plan, kLimits);
    queue_.emplace_back(std::move(plan), std::move(done));
  }
  const proto::PlanLimits& limits() const override { return kLimits; }
  proto::ClusterStatus Status() const override { return {}; }

  bool is_idle() const { return queue_.empty(); }
  const proto::ForwardPlan& next() const { return queue_.front().first; }
  void ComputeNext() {
    const auto [plan, done] = std::move(queue_.front());
    queue_.pop_front();
    std::vector<proto::RowLogits> rows;
    for (const proto::PlanRead& read : plan.reads) {
      float sum = read.pooled.empty() ? 0 : read.pooled[0];
      for (std::int32_t row = read.first_row; row <= read.row; ++row) {
        sum += static_cast<float>(plan.tokens.at(static_cast<std::size_t>(row)));
      }
      rows.push_back({.embedding = {sum}});
    }
    done(std::move(rows));
  }

 private:
  std::deque<std::pair<proto::ForwardPlan, PlanDone>> queue_;
};

}  // namespace scorecast::coordinator
