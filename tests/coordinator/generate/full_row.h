#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "proto/plan/gumbel.h"
#include "proto/plan/label_list.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// What the ranks would return for a row with these logits. `labels` are sorted.
inline proto::RowLogits ReadFullRow(std::span<const float> logits, const proto::RowRead& read,
                                    const proto::LabelList& labels = {}) {
  proto::RowLogits row;
  for (const proto::TokenId id : labels) {
    row.label_logits.push_back(logits[static_cast<std::size_t>(id)] / read.temperature);
  }
  if (!read.normalizer) {
    return row;
  }
  std::vector<std::pair<proto::TokenId, float>> tokens;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<proto::TokenId>(i);
    if (!read.excludes_labels || !std::ranges::binary_search(labels, id)) {
      tokens.emplace_back(id, logits[i] / read.temperature);
    }
  }
  if (read.target >= 0) {
    row.target_logit = logits[static_cast<std::size_t>(read.target)] / read.temperature;
  }
  if (read.ranks_target) {
    row.target_rank = static_cast<std::int32_t>(std::ranges::count_if(
        tokens, [&](const auto& token) { return token.second >= row.target_logit; }));
  }
  row.max = tokens.empty() ? std::numeric_limits<float>::lowest() : tokens.front().second;
  for (const auto& [id, logit] : tokens) {
    // std::max would lose a NaN.
    row.max = logit <= row.max ? row.max : logit;
  }
  for (const auto& [id, logit] : tokens) {
    row.sum_exp += std::exp(double{logit} - row.max);
    if (read.draw) {
      const double value = logit + proto::GumbelNoise(read.draw->seed, read.draw->step, id);
      if (row.drawn.first < 0 || value > row.drawn.second) {
        row.drawn = {id, value};
      }
    }
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(read.top_k)));
  row.top = std::move(tokens);
  return row;
}

}  // namespace scorecast::coordinator
