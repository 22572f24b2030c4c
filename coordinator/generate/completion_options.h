#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/generate/completion_position.h"
#include "coordinator/generate/stop_strings.h"
#include "coordinator/generate/token_adjustments.h"
#include "proto/model/token_id.h"
#include "proto/plan/label_list.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// How each token of a completion is chosen. The temperature divides the logits. Then those tokens
/// are kept whose probability is at least `min_p` times that of the best, of these the `top_k`
/// best, and of these only as many of the best as are needed for probabilities that add up to
/// `top_p` of theirs. The order is that of vLLM.
struct SamplingOptions {
  /// Below this temperature the best token is almost certain, and is chosen without drawing.
  static constexpr double kLeastTemperature = 0.01;

  double temperature = 0;             ///< At least 0.
  double top_p = 1;                   ///< Above 0. From 1 on, all tokens are kept.
  std::int64_t top_k = 0;             ///< Unless it is above 0, all tokens are kept.
  double min_p = 0;                   ///< 0 … 1. 0: all tokens are kept.
  std::optional<std::uint64_t> seed;  ///< Set unless the best token is always chosen.

  bool is_greedy() const { return temperature < kLeastTemperature; }
};

/// Options that say how a completion is generated and when it ends. Copies share what a request
/// may have much of, except `echo`.
struct CompletionOptions {
  std::int64_t max_new_tokens = 0;  ///< At least 1 if a completion is generated.
  SamplingOptions sampling;
  TokenAdjustments adjustments;      ///< Before the temperature.
  StopList stop;                     ///< The text ends before the first of them, which does not
                                     ///< end in the first `min_tokens` tokens.
  bool shows_stop = false;           ///< The text has what ended it: a stop string or token.
  proto::LabelList stop_token_ids;   ///< Include the model's EOS ids, unless these are ignored.
  std::string echo;                  ///< UTF-8 with which the text begins. No stop is in it.
  bool skip_special_tokens = false;  ///< Special tokens have no text.
  /// If it is set, tokens get their log-probabilities and those of this many best tokens.
  std::optional<std::int64_t> logprobs;
  /// With `logprobs`: unless the list is empty, these tokens get theirs instead of the best ones.
  proto::LabelList logprob_token_ids;
  /// How far the completion was sent by another server. Deltas begin behind that.
  CompletionPosition sent{};
};

}  // namespace scorecast::coordinator
