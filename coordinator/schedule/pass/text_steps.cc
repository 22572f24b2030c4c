#include "coordinator/schedule/pass/text_steps.h"

#include <algorithm>
#include <cmath>

#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/sequence_work.h"

namespace scorecast::coordinator {

using proto::Range;

namespace {

/// A bound lets a step have this many rows, however long they take.
constexpr double kLeastStepRows = 32;

/// Products of keys and values, relative to all products of a layer. The first stage has no others,
/// and the last one has all others.
constexpr double kKeysAndValues = 1.0 / 6;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The most rows of the text whose reads fit into a pass.
std::int64_t RowsWithinLimits(const proto::PackedSequence& text, const proto::PlanLimits& limits) {
  std::int64_t bytes = 1;
  for (const proto::RowRead& read : text.reads) {
    bytes = std::max(bytes, ReadBytesOf(text, read, limits));
  }
  return std::max<std::int64_t>(
      std::min<std::int64_t>({limits.max_rows, limits.max_reads, limits.max_logit_bytes / bytes}),
      1);
}

}  // namespace

TextCut CutText(const proto::PackedSequence& text, const PassWork& work,
                const proto::PlanLimits& limits, const PassBudget& budget) {
  const std::int64_t rows = text.rows();
  const std::int64_t most_rows = RowsWithinLimits(text, limits);
  const std::int64_t stages = limits.layers + 1;
  const double stage_seconds = budget.rates.Seconds({.rows = work.rows, .keys = work.keys}) /
                               static_cast<double>(limits.layers);
  // How often a stage fits into the budget.
  const double fitting =
      std::clamp(budget.seconds / std::max(stage_seconds, 1e-9), 0.0, static_cast<double>(stages));
  if (rows <= most_rows && fitting >= 1) {
    const std::int64_t steps = CeilDivide(stages, static_cast<std::int64_t>(fitting));
    return {.rows = static_cast<std::int32_t>(rows),
            .stages = static_cast<std::int32_t>(CeilDivide(stages, steps))};
  }
  const double in_time = std::max(fitting * static_cast<double>(rows), kLeastStepRows);
  const std::int64_t steps =
      CeilDivide(rows, std::min(most_rows, static_cast<std::int64_t>(in_time)));
  return {.rows = static_cast<std::int32_t>(CeilDivide(rows, steps)), .stages = 1};
}

TextSteps::TextSteps(const SequencePart& text, const proto::PlanLimits& limits, const TextCut& cut)
    : rows_(text.rows()),
      layers_(limits.layers),
      keys_per_row_(static_cast<double>(KeyCount::Keys(0, 0, rows_, limits.reach)) /
                    static_cast<double>(rows_)),
      cut_(cut),
      // The last stage only computes rows that are read.
      end_stage_(limits.layers + (text.reads.empty() ? 0 : 1)) {
  if (!text.reads.empty()) {
    read_ = {text.reads.front().row, std::int64_t{text.reads.back().row} + 1};
  }
}

Range TextSteps::RowsOf(std::int64_t stage) const {
  // A step of the last stage has all rows of the step of earlier stages, so that each rank owns the
  // same ones.
  return stage < layers_ ? Range{0, rows_} : Range{read_.begin / cut_.rows * cut_.rows, read_.end};
}

TextSteps::Step TextSteps::Next() const {
  Step step;
  step.rows = {row_, std::min(row_ + cut_.rows, rows_)};
  const std::int64_t end = std::min(stage_ + cut_.stages, end_stage_);
  step.stages = {static_cast<std::int32_t>(stage_), static_cast<std::int32_t>(end)};
  step.has_reads = end == layers_ + 1;
  Share share;
  for (std::int64_t stage = stage_; stage < end; ++stage) {
    const Share of_stage = ShareOf(stage, step.rows);
    share.rows += of_stage.rows;
    share.keys += of_stage.keys;
  }
  step.work = share.Work();
  return step;
}

void TextSteps::Advance() {
  row_ += cut_.rows;
  if (row_ >= RowsOf(stage_).end || cut_.rows >= rows_) {
    stage_ += cut_.stages;
    row_ = is_left() ? RowsOf(stage_).begin : 0;
  }
}

PassWork TextSteps::WorkLeft() const {
  Share left;
  for (std::int64_t stage = stage_; stage < end_stage_; ++stage) {
    const Range rows = RowsOf(stage);
    const Share of_stage = ShareOf(stage, {stage == stage_ ? row_ : rows.begin, rows.end});
    left.rows += of_stage.rows;
    left.keys += of_stage.keys;
  }
  return is_left() ? left.Work() : PassWork();
}

TextSteps::Share TextSteps::ShareOf(std::int64_t stage, Range rows) const {
  double part = 1;
  if (stage == 0) {
    part = kKeysAndValues;
  } else if (stage == layers_) {
    part = 1 - kKeysAndValues;
    rows = {std::max(rows.begin, read_.begin), std::min(rows.end, read_.end)};
  }
  const double of_layers =
      static_cast<double>(std::max<std::int64_t>(rows.size(), 0)) / static_cast<double>(layers_);
  return {.rows = part * of_layers, .keys = stage == 0 ? 0 : keys_per_row_ * of_layers};
}

PassWork TextSteps::Share::Work() const {
  // At least one row, because a pass has some.
  return {.rows = std::max<std::int64_t>(std::llround(rows), 1), .keys = std::llround(keys)};
}

}  // namespace scorecast::coordinator
