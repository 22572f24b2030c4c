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

// What a response needs of a row, in float64. Each is computed from the logits alone, so that no
// bit depends on the response's other fields. None of them is returned if a logit of the row, or a
// number that follows from them, is not finite.

/// Whether the logits of the labels and of the best tokens are finite.
bool LogitsAreFinite(const proto::RowLogits& row);

/// [labels] The softmax is over the labels in their order, from the logits minus the largest of
/// them, divided by the temperature.
std::optional<std::vector<double>> ScoresOfRow(const proto::RowLogits& row, ScoreKind kind,
                                               double temperature);
/// [labels] Log-probability = logit - max - log(sum_exp).
std::optional<std::vector<double>> LogprobsOfRow(const proto::RowLogits& row);
/// Best first.
std::optional<std::vector<TokenLogprob>> TopLogprobsOfRow(const proto::RowLogits& row);

/// The 500 for a row with a number that is not finite. `field` is the part of the request that the
/// row belongs to.
proto::Error NotFinite(const std::string& field);

}  // namespace scorecast::coordinator
