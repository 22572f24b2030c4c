#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"
#include "proto/plan/best_draws.h"
#include "proto/plan/mass_bins.h"

namespace scorecast::proto {

/// Result for one row read. All logits are divided by the read's temperature.
struct RowLogits {
  std::vector<float> label_logits;  ///< In the order of the read's label list.
  /// Set if the read asked for the normalizer. Over the whole vocabulary: log-probability = logit -
  /// max - log(sum_exp). If the read excludes its labels, all below is about the other tokens; if
  /// there are no others, `sum_exp` is 0.
  float max = 0;
  double sum_exp = 0;  ///< Sum of exp(logit - max).
  /// The best `top_k` tokens as (id, logit), sorted by logit, then by id.
  std::vector<std::pair<TokenId, float>> top;
  float target_logit = 0;  ///< That of the read's target, if it has one.
  /// If the read asked for it: the number of tokens whose logit is at least the target's, and so
  /// the target's rank. Of equal logits the target's counts last, as in vLLM.
  std::int32_t target_rank = 0;
  /// If the read asked for a draw: up to Draw::count tokens with the largest sums, sorted by sum,
  /// then by id. The first one is the token drawn. Fewer if there are not so many tokens.
  std::vector<DrawnToken> drawn;
  MassBins mass_bins;                 ///< If the read asked for it.
  std::vector<std::uint64_t> masses;  ///< [places] of the read's PlaceMasses.
  /// The result of a pooled read of an embedder, [ReadHead::output_size], or of a raw read,
  /// [hidden_size]. The classes of a classifier are `label_logits`, all of them in order.
  std::vector<float> embedding;
};

}  // namespace scorecast::proto
