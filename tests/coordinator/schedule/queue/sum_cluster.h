#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "proto/base/check.h"
#include "proto/model/token_id.h"
#include "proto/plan/cluster.h"
#include "proto/plan/cluster_status.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// A cluster with a bidirectional model of four layers. A text's embedding is one number, the sum
/// of its tokens. Plans are computed when told. All calls come from one thread. A Check fails if
/// what waits between the steps of a text is lost: rows are told apart by their tokens.
class SumCluster : public proto::Cluster {
 public:
  static constexpr proto::PlanLimits kLimits{.max_rows = 256,
                                             .max_reads = 256,
                                             .pass_kv_rows = 1024,
                                             .longest_text = 1000,
                                             .text_rows = 1536,
                                             .vocabulary = 1,
                                             .pooled_rows = proto::PooledRows::kAll,
                                             .pooled_values = 1,
                                             .row_values = 1,
                                             .layers = 4,
                                             .reach = {.both_sides = true}};

  void Submit(proto::ForwardPlan plan, PlanDone done) override {
    proto::CheckBuckets(plan, kLimits);
    if (plan.step) {
      PassStages(plan);
    }
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
  /// A row of the buffers for texts.
  struct TextRow {
    proto::TokenId token = -1;
    std::int32_t stages = 0;  ///< That it has passed.
  };

  /// The rows of a step pass its stages.
  void PassStages(const proto::ForwardPlan& plan) {
    const proto::PlanSegment& text = plan.sequences.at(0).segments.at(0);
    const std::span<TextRow> rows = std::span(text_rows_)
                                        .subspan(static_cast<std::size_t>(text.kv.first),
                                                 static_cast<std::size_t>(text.keys()));
    const std::span<TextRow> own = rows.subspan(static_cast<std::size_t>(text.compute_begin),
                                                static_cast<std::size_t>(text.computed()));
    const auto& [begin, end] = *plan.step;
    for (std::size_t i = 0; i < own.size() && begin > 0; ++i) {
      proto::Check(own[i].token == plan.tokens[i] && own[i].stages == begin,
                   "a row waits in its place");
    }
    for (std::size_t i = 0; i < rows.size() && begin > 0; ++i) {
      proto::Check(rows[i].stages >= begin, "a row attends to rows that have passed its stages");
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = {plan.tokens[i], end};
    }
  }

  std::vector<TextRow> text_rows_{static_cast<std::size_t>(kLimits.text_rows)};
  std::deque<std::pair<proto::ForwardPlan, PlanDone>> queue_;
};

}  // namespace scorecast::coordinator
