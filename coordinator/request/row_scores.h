#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/request/values.h"
#include "proto/base/error.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// The numbers that a response wants of a row.
struct RowReadout {
  bool scores = true;
  bool apply_softmax = false;
  double temperature = 1.0;  ///< Of the softmax.
  bool token_logprobs = false;
  bool top_logprobs = false;

  /// Whether the read of the row needs the normaliser. A softmax over the labels needs only their
  /// logits.
  bool NeedsNormalizer() const {
    return (scores && !apply_softmax) || token_logprobs || top_logprobs;
  }
};

/// Only what the readout asks for is set.
struct RowScores {
  std::vector<double> scores;              ///< [labels]
  std::vector<double> token_logprobs;      ///< [labels]
  std::vector<TokenLogprob> top_logprobs;  ///< Best first.
};

/// Log-probability = logit - max - log(sum_exp), in float64. The softmax is over the labels in
/// their order, from the logits minus the largest of them, divided by the temperature. Empty if a
/// number is not finite.
std::optional<RowScores> ScoresOfRow(const proto::RowLogits& row, const RowReadout& readout);

/// The 500 of a row that is not finite; `field` is the part of the request that it belongs to.
proto::Error NotFinite(const std::string& field);

}  // namespace scorecast::coordinator
