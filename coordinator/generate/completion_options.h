#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// How each token of an answer is chosen. The temperature divides the logits, then the `top_k` best
/// stay, then of these the best whose mass is at least `top_p`.
struct SamplingOptions {
  double temperature = 0;  ///< 0: the best token. Not negative.
  double top_p = 1;        ///< Above 0; from 1 on all tokens.
  std::int64_t top_k = 0;  ///< 0: all tokens.
  std::uint64_t seed = 0;
};

/// What an answer is to be, and where it ends.
struct CompletionOptions {
  std::int64_t max_new_tokens = 0;  ///< At least 1 where an answer is generated.
  SamplingOptions sampling;
  std::vector<std::string> stop;        ///< UTF-8; the text ends before the first of them.
  std::vector<TokenId> stop_token_ids;  ///< With the model's EOS ids, unless these are ignored.
};

}  // namespace scorecast::coordinator
