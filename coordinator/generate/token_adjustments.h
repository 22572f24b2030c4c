#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"
#include "proto/plan/label_list.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// What changes the logits of some tokens before a token of a completion is chosen. The order is
/// that of vLLM: forbidden tokens, then the bias, then the penalties in the order of these fields.
struct AdjustmentOptions {
  /// Above 0. Divides the positive logits of the tokens of prompt and completion, and multiplies
  /// their other logits.
  double repetition_penalty = 1;
  double frequency_penalty = 0;  ///< Subtracted once for each time that a token was generated.
  double presence_penalty = 0;   ///< Subtracted once from all tokens that were generated.
  std::vector<std::pair<TokenId, double>> logit_bias;  ///< Added. By id; no id is there twice.
  /// A list of tokens is never generated in this order: its last token is forbidden if the others
  /// were generated just now. No list is empty.
  std::vector<std::vector<TokenId>> bad_words;
  std::int64_t min_tokens = 0;
  std::vector<TokenId> end_ids;  ///< Forbidden among the first `min_tokens` tokens.
  /// Unless the list is empty, all other tokens are forbidden. By id; no id is there twice.
  proto::LabelList allowed;

  /// Whether the tokens of a prompt matter.
  bool reads_prompt() const { return repetition_penalty != 1; }
};

/// Sorts ids, and leaves each of them once.
void SortIds(std::vector<TokenId>& ids);

/// A token and its logit.
using TokenLogit = std::pair<TokenId, double>;

/// The adjusted tokens of one completion, step by step. Copies share what they have in common.
class TokenAdjustments {
 public:
  /// Nothing is adjusted.
  TokenAdjustments() : TokenAdjustments(AdjustmentOptions()) {}
  explicit TokenAdjustments(AdjustmentOptions options);

  /// The same for a completion of a prompt with these tokens: by id, no id twice.
  TokenAdjustments WithPrompt(proto::LabelList prompt) const;

  const AdjustmentOptions& options() const { return *options_; }
  /// Tokens of the prompt, if they matter.
  const proto::LabelList& prompt() const { return prompt_; }

  /// The tokens whose logits may be adjusted at the next step: by id, no id twice.
  const proto::LabelList& tokens() const { return tokens_; }
  /// Whether a completion gets a list of its own as soon as it has tokens.
  bool has_own_tokens() const { return has_penalties() && !excludes_others(); }
  /// Whether only these tokens may be chosen.
  bool excludes_others() const { return !options_->allowed.empty(); }

  /// The adjusted logits of tokens() without those that are forbidden, in the same order, divided
  /// by the temperature. `logits` [tokens()] are divided by the temperature already.
  std::vector<TokenLogit> Adjust(std::span<const double> logits, double temperature) const;

  /// `token` was chosen.
  void Add(TokenId token);

 private:
  bool has_penalties() const {
    return options_->repetition_penalty != 1 || options_->frequency_penalty != 0 ||
           options_->presence_penalty != 0;
  }
  bool may_end() const { return num_generated_ >= options_->min_tokens; }
  /// Sets the tokens of every step.
  void SetLasting();
  void SetTokens();
  /// By id.
  std::vector<TokenId> Forbidden() const;

  std::shared_ptr<const AdjustmentOptions> options_;
  proto::LabelList prompt_;
  proto::LabelList lasting_;  ///< The tokens that are adjusted at every step, whatever is chosen.
  proto::LabelList tokens_;
  std::int64_t num_generated_ = 0;
  std::vector<TokenId> generated_;                        ///< Only if there are bad words.
  std::vector<std::pair<TokenId, std::int64_t>> counts_;  ///< Of generated tokens, by id.
};

}  // namespace scorecast::coordinator
