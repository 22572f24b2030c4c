#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/request/values.h"
#include "proto/base/error.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// What becomes of a row that was read.
struct RowReadout {
  bool scores = true;
  bool apply_softmax = false;
  double temperature = 1.0;  ///< Of the softmax.
  bool token_logprobs = false;
  bool top_logprobs = false;

  /// Whether the row's read needs the normaliser: labels compared with each other by softmax need
  /// their logits only.
  bool NeedsNormalizer() const {
    return (scores && !apply_softmax) || token_logprobs || top_logprobs;
  }
};

/// What the readout says, and nothing else.
struct RowScores {
  std::vector<double> scores;              ///< [labels]
  std::vector<double> token_logprobs;      ///< [labels]
  std::vector<TokenLogprob> top_logprobs;  ///< Best first.
};

/// Log-probability = logit - max - log(sum_exp), in float64; softmax over the labels in their
/// order, from the logits minus their largest, divided by the temperature. Nothing where a number
/// is not finite.
std::optional<RowScores> ScoresOfRow(const proto::RowLogits& row, const RowReadout& readout);

/// The 500 of a row that is not finite; `field` says whose it is.
proto::Error NotFinite(const std::string& field);

}  // namespace scorecast::coordinator
