#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/generate/completion_options.h"
#include "coordinator/generate/completion_position.h"
#include "coordinator/generate/scored_token.h"
#include "coordinator/generate/stop_strings.h"
#include "coordinator/generate/text_stream.h"
#include "coordinator/generate/token_sampler.h"
#include "coordinator/schedule/job.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/digest.h"

namespace scorecast::coordinator {

/// Why a completion ended.
enum class FinishReason {
  kStop,    ///< A stop token, such as EOS, or a stop string.
  kLength,  ///< It has `max_new_tokens` tokens.
};

/// "stop" or "length".
const char* Name(FinishReason reason);

/// The part of a completion that was generated since the last delta. Its text may lag behind its
/// tokens.
struct CompletionDelta {
  std::string text;  ///< Whole characters. May be empty.
  std::vector<TokenId> token_ids;
  std::optional<FinishReason> finish_reason;  ///< Set in the last delta.
  std::vector<ScoredToken> scored;            ///< [token_ids], or empty without `logprobs`.
  CompletionPosition reached{};               ///< Where the delta ends.
};

struct CompletionOutput {
  std::string text;                 ///< Ends before the stop string or the stop token, or with it.
  std::vector<TokenId> token_ids;   ///< Includes the stop token.
  std::vector<ScoredToken> scored;  ///< [token_ids], or empty without `logprobs`.
  FinishReason finish_reason = FinishReason::kLength;
};

/// The TokenChooser of one completion: it samples the tokens, decodes them, and ends the
/// completion.
class CompletionGenerator : public TokenChooser {
 public:
  /// Called by Take, once for each token behind CompletionOptions::sent. The last
  /// delta has a finish_reason. A completion that stops because a row is not finite, or because it
  /// differs, has no such delta.
  using OnDelta = std::function<void(CompletionDelta)>;

  /// `tokenizer` may be null: the text then stays empty, and no stop string is found. `context` are
  /// the last tokens before the completion; the completion's text continues theirs. `on_delta` may
  /// be empty.
  CompletionGenerator(const Tokenizer* tokenizer, std::int64_t vocab_size,
                      std::vector<TokenId> context, CompletionOptions options, OnDelta on_delta);

  proto::RowRead Wanted() const override;
  const proto::LabelList& Labels() const override;
  void Choose(const proto::RowLogits& row) override;
  Choice Take(const proto::RowLogits& row) override;

  /// False if a row was not finite, which ended the completion.
  bool is_finite() const { return is_finite_; }
  /// True if what was sent has other tokens, which ended the completion.
  bool differs() const { return differs_; }
  /// Complete when the job is done.
  const CompletionOutput& output() const { return output_; }

 private:
  void Give(std::string text, TokenId token, std::optional<ScoredToken> scored,
            std::optional<FinishReason> reason);
  /// Where the completion is with this token as its last one.
  CompletionPosition Reach(TokenId token, const std::optional<ScoredToken>& scored);

  bool HasText(TokenId token) const;

  /// Number of most likely tokens whose log-probabilities are returned. `logprobs` is set.
  std::int64_t NumBest() const;
  /// Whether the sampler's read has the log-probabilities, too, unless the logits are divided by a
  /// temperature. The reads of the best tokens stay as they are, because all of these may be drawn.
  bool SharesRead(const proto::RowRead& of_sampler) const;
  /// The token with its log-probabilities, if `read` has them.
  std::optional<ScoredToken> Score(TokenId token, const proto::RowRead& read,
                                   const proto::RowLogits& row) const;

  const Tokenizer* const tokenizer_;
  CompletionOptions options_;
  OnDelta on_delta_;
  TokenSampler sampler_;
  std::optional<TextStream> text_stream_;
  StopStrings stop_strings_;
  /// What Choose has found in a row, until Take takes it.
  struct Chosen {
    bool is_finite = true;
    std::optional<TokenId> token;       ///< If the row need not be read again.
    std::optional<ScoredToken> scored;  ///< With CompletionOptions::logprobs.
  };
  std::optional<Chosen> chosen_;
  /// The token that was chosen from a read that did not have its log-probability.
  std::optional<TokenId> unscored_;
  std::int64_t text_offset_;  ///< Of the next token, in characters.
  bool is_finite_ = true;
  bool differs_ = false;
  proto::Digest digest_;
  CompletionOutput output_;
};

}  // namespace scorecast::coordinator
