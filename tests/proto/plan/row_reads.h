#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "proto/plan/gumbel.h"
#include "proto/plan/label_list.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::proto {

using TokenOfRow = std::pair<TokenId, float>;

inline std::vector<DrawnToken> Drawn(const std::vector<TokenOfRow>& tokens, const Draw& draw) {
  std::vector<DrawnToken> drawn;
  for (const auto& [id, logit] : tokens) {
    if (logit > draw.end.logit || (logit == draw.end.logit && id < draw.end.id)) {
      drawn.push_back({id, logit, logit + GumbelNoise(draw.seed, draw.step, id)});
    }
  }
  std::ranges::stable_sort(drawn, [](const auto& a, const auto& b) { return a.sum > b.sum; });
  drawn.resize(std::min(drawn.size(), static_cast<std::size_t>(draw.count)));
  return drawn;
}

inline MassBins BinsOf(const std::vector<TokenOfRow>& tokens, double width) {
  const double most = MassBins::kMostBin;
  const auto bin_of = [&](float logit) {
    return std::clamp(std::floor(logit / width), -most, most);
  };
  MassBins bins;
  for (const auto& [id, logit] : tokens) {
    bins.highest = std::max(bins.highest, static_cast<std::int32_t>(bin_of(logit)));
  }
  bins.masses.resize(tokens.empty() ? 0 : MassBins::kCount);
  for (const auto& [id, logit] : tokens) {
    const double bin = bin_of(logit);
    const double below = bins.highest - bin;
    if (below < static_cast<double>(bins.masses.size())) {
      const double above = std::clamp(logit - bin * width, 0.0, width);
      bins.masses[static_cast<std::size_t>(below)] +=
          static_cast<std::uint64_t>(std::round(std::ldexp(std::exp(above), MassBins::kUnitBits)));
    }
  }
  return bins;
}

inline std::uint64_t MassBefore(const std::vector<TokenOfRow>& tokens, const TokenPlace& place,
                                double max) {
  double mass = 0;
  for (const auto& [id, logit] : tokens) {
    if (logit > place.logit || (logit == place.logit && id < place.id)) {
      mass += std::exp(logit - max);
    }
  }
  return static_cast<std::uint64_t>(std::llround(std::ldexp(mass, PlaceMasses::kUnitBits)));
}

/// What the ranks must return for a row with these logits [vocabulary], in plain loops over
/// doubles: everything that is not pooled. Sums of exponentials are exact but for rounding. `read`
/// is a RowRead or a PlanRead.
template <typename Read = RowRead>
RowLogits ReadRow(std::span<const float> logits, const Read& read, const LabelList& labels = {}) {
  const auto logit_of = [&](TokenId id) {
    return logits[static_cast<std::size_t>(id)] / read.temperature;
  };
  RowLogits row;
  for (const TokenId id : labels) {
    row.label_logits.push_back(logit_of(id));
  }
  if (!read.normalizer) {
    return row;
  }
  std::unordered_set<TokenId> excluded;
  if (read.excludes_labels) {
    excluded.insert(labels.begin(), labels.end());
  }
  std::vector<TokenOfRow> tokens;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (excluded.empty() || !excluded.contains(id)) {
      tokens.emplace_back(id, logit_of(id));
    }
  }
  if (read.target >= 0) {
    row.target_logit = logit_of(read.target);
  }
  if (read.ranks_target) {
    row.target_rank = static_cast<std::int32_t>(std::ranges::count_if(
        tokens, [&](const TokenOfRow& token) { return token.second >= row.target_logit; }));
  }
  row.max = tokens.empty() ? std::numeric_limits<float>::lowest() : tokens.front().second;
  for (const auto& [id, logit] : tokens) {
    row.max = logit <= row.max ? row.max : logit;  // std::max would lose a NaN.
  }
  for (const auto& [id, logit] : tokens) {
    row.sum_exp += std::exp(double{logit} - row.max);
  }
  if (read.draw) {
    row.drawn = Drawn(tokens, *read.draw);
  }
  const bool is_finite = std::isfinite(row.sum_exp);
  if (read.bin_width > 0 && is_finite) {
    row.mass_bins = BinsOf(tokens, read.bin_width);
  }
  for (const TokenPlace& place : read.masses.places) {
    row.masses.push_back(is_finite ? MassBefore(tokens, place, read.masses.max) : 0);
  }
  std::ranges::stable_sort(
      tokens, [](const TokenOfRow& a, const TokenOfRow& b) { return a.second > b.second; });
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(read.top_k)));
  row.top = std::move(tokens);
  return row;
}

}  // namespace scorecast::proto
