#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/pass_work.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/label_list.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Makes passes of random tokens, which are the same for every object. Their K/V is pass-local.
class RandomPasses {
 public:
  /// The arguments outlive this object.
  RandomPasses(const proto::ModelConfig& config, const proto::PlanLimits& limits)
      : config_(config), limits_(limits) {}

  /// What is read of a row.
  struct Read {
    proto::RowRead read;
    proto::LabelList labels;
  };
  struct Pass {
    proto::ForwardPlan plan;
    PassWork work;
  };

  /// The read that returns least.
  Read Least() const;
  /// The kinds of reads that return much. Some are missing if the model has none of the kind.
  std::vector<Read> Larger() const;

  /// A pass of `rows` rows, or of as many as fit, in sequences of `length` rows. The last row of
  /// each is read.
  Pass Make(std::int64_t rows, std::int64_t length);
  /// A pass of one sequence, of which every row is read. It has as many rows as have room for that,
  /// perhaps none.
  Pass MakeReads(std::int64_t rows, const Read& read);

 private:
  /// Adds a sequence whose last `reads` rows are read, or all if they are pooled. False if the pass
  /// has no room for it.
  bool Add(std::int64_t length, std::int64_t reads, const Read& read, PassBuilder& builder);

  const proto::ModelConfig& config_;
  const proto::PlanLimits& limits_;
  std::mt19937_64 random_;
};

}  // namespace scorecast::coordinator
