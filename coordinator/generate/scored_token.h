#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// A token of a text with its log-probability in its place: that of the model, before temperature
/// and whatever else changes how tokens are drawn.
struct ScoredToken {
  TokenId id = 0;
  double logprob = 0;
  std::int64_t rank = 0;  ///< 1 for the most likely token, if the read asked for ranks.
  /// The most likely tokens in this place, best first, or those that a request names, in its order.
  /// If `id` is among them, its value is `logprob`.
  std::vector<std::pair<TokenId, double>> best;
  std::int64_t text_offset = 0;  ///< Of the token's text, in characters of the whole text.
};

/// What must be read of the row before a token for its log-probability and those of the `best` most
/// likely tokens.
proto::RowRead ScoringRead(TokenId id, std::int64_t best);

/// The token with its log-probability, from what `read` returned for the row before it. Nothing if
/// the logits were divided by a temperature, if tokens were left out of their sum, or if that of
/// the token is not among what was read.
std::optional<ScoredToken> ScoreToken(TokenId id, std::int64_t best, const proto::RowRead& read,
                                      const proto::RowLogits& row);

/// The log-probabilities of the read's labels, in their order. The read has a normalizer of all
/// tokens, and no temperature.
std::vector<double> LabelLogprobs(const proto::RowLogits& row);

/// Whether all values returned for a row are finite. Values that were not asked for are 0, and no
/// token may have been left to be drawn.
bool IsRowFinite(const proto::RowLogits& row);

}  // namespace scorecast::coordinator
