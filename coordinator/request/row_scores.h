#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/request/score_kind.h"
#include "coordinator/request/values.h"
#include "proto/base/error.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// Which numbers of a row a response needs.
struct RowReadout {
  bool scores = true;
  ScoreKind kind = ScoreKind::kProbability;
  double temperature = 1.0;  ///< Temperature of the softmax.
  bool token_logprobs = false;
  bool top_logprobs = false;

  /// Whether the row's normaliser (maximum and sum of exponentials) must be read. Other scores than
  /// probabilities over the vocabulary need only the labels' logits.
  bool NeedsNormalizer() const {
    return (scores && kind == ScoreKind::kProbability) || token_logprobs || top_logprobs;
  }
};

/// Only what the readout asks for is set.
struct RowScores {
  std::vector<double> scores;              ///< [labels]
  std::vector<double> token_logprobs;      ///< [labels]
  std::vector<TokenLogprob> top_logprobs;  ///< Best first.
};

/// Log-probability = logit - max - log(sum_exp), in float64. The softmax is over the labels in
/// their order, from the logits minus the largest of them, divided by the temperature. Returns
/// nothing if a number is not finite.
std::optional<RowScores> ScoresOfRow(const proto::RowLogits& row, const RowReadout& readout);

/// The 500 for a row with a number that is not finite. `field` is the part of the request that the
/// row belongs to.
proto::Error NotFinite(const std::string& field);

}  // namespace scorecast::coordinator
