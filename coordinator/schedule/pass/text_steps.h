#pragma once

#include <cstdint>

#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/pass/sequence_parts.h"
#include "proto/base/range.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// The steps of a text: see proto::PlanStep.
struct TextCut {
  std::int32_t rows = 0;    ///< Rows of each step; the last step of a stage may have fewer.
  std::int32_t stages = 1;  ///< Stages of each step; more than one only if `rows` are all rows.
};

/// Divides a bidirectional text of one segment among steps that fit into a pass, and that keep the
/// budget if steps of a few rows do. Steps of several stages cost less than those of a part of the
/// rows. `work` is that of the text.
TextCut CutText(const proto::PackedSequence& text, const PassWork& work,
                const proto::PlanLimits& limits, const PassBudget& budget);

/// Progress of a text that is computed in steps.
class TextSteps {
 public:
  /// `text` has all rows and reads of the text.
  TextSteps(const SequencePart& text, const proto::PlanLimits& limits, const TextCut& cut);

  struct Step {
    proto::PlanStep stages;
    proto::Range rows;
    bool has_reads = false;  ///< Its rows are read.
    PassWork work;           ///< Without reads.
  };

  bool is_left() const { return stage_ < end_stage_; }
  /// The next step. There is one.
  Step Next() const;
  void Advance();
  /// Of all steps that are left, without reads.
  PassWork WorkLeft() const;

 private:
  /// A part of the text's work, in rows and keys.
  struct Share {
    double rows = 0;
    double keys = 0;

    PassWork Work() const;
  };

  /// The rows that a stage has to compute.
  proto::Range RowsOf(std::int64_t stage) const;
  Share ShareOf(std::int64_t stage, proto::Range rows) const;

  const std::int64_t rows_;
  const std::int64_t layers_;
  const double keys_per_row_;  // In all layers together.
  const TextCut cut_;
  proto::Range read_;  // From the first row that is read to the last.
  const std::int64_t end_stage_;
  std::int64_t stage_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace scorecast::coordinator
