#include "shard/readout/read_accumulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ranges>
#include <utility>

#include "proto/base/check.h"
#include "shard/readout/draw.h"

namespace scorecast::shard {

using proto::Range;
using proto::TokenId;

std::vector<LabelColumn> LabelColumns(const proto::LabelList& labels, Range vocabulary) {
  std::vector<LabelColumn> columns;
  for (const TokenId id : labels) {
    if (vocabulary.Contains(id)) {
      columns.push_back({id - vocabulary.begin, columns.size()});
    }
  }
  std::ranges::sort(columns, {}, &LabelColumn::column);
  return columns;
}

ReadAccumulator::ReadAccumulator(const Kernels& kernels, const proto::PlanRead& read,
                                 Range vocabulary, std::span<const LabelColumn> labels,
                                 RangeNormalizer* ranges, std::int64_t stride, float target_logit)
    : kernels_(kernels),
      read_(read),
      vocabulary_(vocabulary),
      labels_(labels),
      ranges_(ranges),
      stride_(stride),
      top_k_(static_cast<std::size_t>(
          OwnedTop(read, vocabulary, static_cast<std::int64_t>(labels.size())))),
      divided_target_(target_logit / read.temperature),
      bins_of_logit_(read.bin_width > 0 ? 1 / read.bin_width : 0),
      masses_(read.masses.places.size()),
      best_draws_(read.draw ? read.draw->count : 1) {
  proto::Check(read.bin_width <= proto::MassBins::kMostWidth, "bins are not too wide");
  part_.label_logits.resize(labels.size());
}

void ReadAccumulator::Add(Range columns, const float* logits) {
  proto::Check(columns.begin % kRangeColumns == 0, "a tile begins where a range begins");
  std::array<float, kRangeColumns> divided;
  for (std::int64_t begin = columns.begin; begin < columns.end; begin += kRangeColumns) {
    const Range range = {begin, std::min(begin + kRangeColumns, columns.end)};
    const float* of_range = logits + (begin - columns.begin);
    if (read_.temperature != 1) {
      std::transform(of_range, of_range + range.size(), divided.begin(),
                     [temperature = read_.temperature](float x) { return x / temperature; });
      of_range = divided.data();
    }
    AddRange(range, of_range);
  }
}

void ReadAccumulator::AddRange(Range columns, const float* logits) {
  const auto labels = std::ranges::subrange(
      std::ranges::lower_bound(labels_, columns.begin, {}, &LabelColumn::column),
      std::ranges::lower_bound(labels_, columns.end, {}, &LabelColumn::column));
  for (const LabelColumn& label : labels) {
    part_.label_logits[label.index] = logits[label.column - columns.begin];
  }
  if (const std::int64_t target = read_.target - vocabulary_.begin; columns.Contains(target)) {
    part_.target_logit = logits[target - columns.begin];
  }
  Excluded excluded;
  std::array<float, kRangeColumns> without_labels;
  if (read_.excludes_labels && !labels.empty()) {
    // Their places have a number that is neither the maximum nor drawn, and whose exponential is 0.
    std::copy_n(logits, columns.size(), without_labels.begin());
    for (const LabelColumn& label : labels) {
      const auto at = static_cast<std::size_t>(label.column - columns.begin);
      excluded.set(at);
      without_labels[at] = kNoScore;
    }
    if (std::cmp_equal(excluded.count(), columns.size())) {
      ranges_[columns.begin / kRangeColumns * stride_] = {};
      return;
    }
    logits = without_labels.data();
  }
  float max = kNoScore;
  double sum_exp = 0;
  kernels_.max_and_sum_exp(logits, columns.size(), &max, &sum_exp);
  // The sum of at most kRangeColumns numbers is computed in float32.
  ranges_[columns.begin / kRangeColumns * stride_] = {max, static_cast<float>(sum_exp)};
  if (top_k_ > 0) {
    FindTop(columns, logits, max, excluded);
  }
  if (read_.draw) {
    FindDraw(columns, logits, static_cast<float>(sum_exp));
  }
  // A row that is not finite shows in its normalizer, and nothing else of it is used.
  if (read_.bin_width > 0 && std::isfinite(sum_exp)) {
    AddMassBins(columns.size(), logits, max);
  }
  if (!masses_.empty() && std::isfinite(sum_exp)) {
    AddMasses(columns, logits, max);
  }
  if (read_.ranks_target) {
    CountAtLeastTarget(columns.size(), logits, max);
  }
}

void ReadAccumulator::CountAtLeastTarget(std::int64_t columns, const float* logits, float max) {
  if (max < divided_target_) {
    return;
  }
  const auto count = std::count_if(logits, logits + columns,
                                   [target = divided_target_](float x) { return x >= target; });
  target_rank_.fetch_add(static_cast<std::int32_t>(count), std::memory_order_relaxed);
}

void ReadAccumulator::FindTop(Range columns, const float* logits, float max,
                              const Excluded& excluded) {
  const float least = least_top_.load(std::memory_order_relaxed);
  if (max < least) {
    return;  // Most ranges end here.
  }
  std::array<std::pair<TokenId, float>, kRangeColumns> found;
  auto end = found.begin();
  for (std::int64_t i = 0; i < columns.size(); ++i) {
    // A NaN is found, too, because it belongs to the best if there are too few numbers.
    if (!(logits[i] < least) && !excluded[static_cast<std::size_t>(i)]) {
      *end++ = {static_cast<TokenId>(vocabulary_.begin + columns.begin + i), logits[i]};
    }
  }
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<TokenId, float>>& top = part_.top;
  top.insert(top.end(), found.begin(), end);
  // The best are selected only when there are twice as many as wanted, so that the work per token
  // is bounded.
  if (top.size() > 2 * top_k_) {
    const auto worst = top.begin() + static_cast<std::ptrdiff_t>(top_k_ - 1);
    std::nth_element(top.begin(), worst, top.end(), &IsBetter);
    top.resize(top_k_);
    least_top_.store(top.back().second, std::memory_order_relaxed);
  }
}

bool ReadAccumulator::CopyBefore(const proto::TokenPlace& place, Range columns, const float* logits,
                                 float* copy) const {
  const auto first_id = static_cast<TokenId>(vocabulary_.begin + columns.begin);
  bool any = false;
  for (std::int64_t i = 0; i < columns.size(); ++i) {
    const bool is_before = place.IsAfter(logits[i], first_id + static_cast<TokenId>(i));
    copy[i] = is_before ? logits[i] : kNoScore;
    any = any || (is_before && logits[i] > kNoScore);
  }
  return any;
}

void ReadAccumulator::FindDraw(Range columns, const float* logits, float sum_exp) {
  const auto first_id = static_cast<TokenId>(vocabulary_.begin + columns.begin);
  proto::BestDraws found(read_.draw->count);
  std::array<float, kRangeColumns> before;
  if (!std::isfinite(sum_exp)) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    found.Offer({first_id, nan, nan});
  } else if (read_.draw->end == proto::kLastPlace ||
             CopyBefore(read_.draw->end, columns, logits, before.data())) {
    const float* of_range = read_.draw->end == proto::kLastPlace ? logits : before.data();
    DrawBest(kernels_, *read_.draw, std::span(of_range, static_cast<std::size_t>(columns.size())),
             first_id, least_drawn_.load(std::memory_order_relaxed), found);
  }
  if (found.tokens().empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const proto::DrawnToken& token : found.tokens()) {
    best_draws_.Offer(token);
  }
  least_drawn_.store(LeastSum(best_draws_.least()), std::memory_order_relaxed);
}

void ReadAccumulator::AddMassBins(std::int64_t columns, const float* logits, float max) {
  constexpr auto kMost = static_cast<float>(proto::MassBins::kMostBin);
  const auto highest =
      static_cast<std::int32_t>(std::clamp(std::floor(max * bins_of_logit_), -kMost, kMost));
  // The bins of the range, the highest one first, and behind them all that are too low. The sum of
  // a range is below 2^32.
  std::array<std::uint32_t, proto::MassBins::kCount + 1> masses = {};
  const std::int64_t bins =
      kernels_.mass_bins(logits, columns, bins_of_logit_, highest, masses.data());
  const std::lock_guard lock(mutex_);
  part_.mass_bins.Add(highest, std::span(masses).first(static_cast<std::size_t>(bins)));
}

void ReadAccumulator::AddMasses(Range columns, const float* logits, float max) {
  std::array<float, kRangeColumns> before;
  const proto::PlaceMasses& asked = read_.masses;
  for (std::size_t i = 0; i < asked.places.size(); ++i) {
    if (max < asked.places[i].logit ||
        !CopyBefore(asked.places[i], columns, logits, before.data())) {
      continue;
    }
    float max_before = kNoScore;
    double sum_exp = 0;
    kernels_.max_and_sum_exp(before.data(), columns.size(), &max_before, &sum_exp);
    const double mass = sum_exp * std::exp(double{max_before} - asked.max);
    masses_[i].fetch_add(
        static_cast<std::uint64_t>(std::llround(std::ldexp(mass, proto::PlaceMasses::kUnitBits))),
        std::memory_order_relaxed);
  }
}

Normalizer ReadAccumulator::Normalize(Range columns) const {
  const Range ranges = {columns.begin / kRangeColumns, Ranges(columns.end)};
  Normalizer normalizer;
  for (std::int64_t i = ranges.begin; i < ranges.end; ++i) {
    normalizer.max = std::max(normalizer.max, ranges_[i * stride_].max);
  }
  for (std::int64_t i = ranges.begin; i < ranges.end; ++i) {
    const RangeNormalizer& range = ranges_[i * stride_];
    normalizer.sum_exp +=
        double{range.sum_exp} * std::exp(static_cast<double>(range.max) - normalizer.max);
  }
  return normalizer;
}

PartialLogits ReadAccumulator::Finish(const proto::Blocks* blocks) {
  if (blocks == nullptr) {
    part_.normalizers.push_back(Normalize({0, vocabulary_.size()}));
  }
  for (std::int64_t i = 0; blocks != nullptr && i < blocks->size(); ++i) {
    const Range block = (*blocks)[i];
    part_.normalizers.push_back(
        Normalize({block.begin - vocabulary_.begin, block.end - vocabulary_.begin}));
  }
  KeepBest(top_k_, part_.top);
  if (read_.draw) {
    part_.drawn.assign(best_draws_.tokens().begin(), best_draws_.tokens().end());
  }
  for (const std::atomic<std::uint64_t>& mass : masses_) {
    part_.masses.push_back(mass.load(std::memory_order_relaxed));
  }
  part_.target_rank = target_rank_.load(std::memory_order_relaxed);
  return std::move(part_);
}

}  // namespace scorecast::shard
