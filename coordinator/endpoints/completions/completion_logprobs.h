#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/generate/scored_token.h"
#include "coordinator/generate/token_texts.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::v1 {
class ChatLogprobs;
class CompletionLogprobs;
class RankedTokens;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

// The log-probabilities of tokens as the clients of OpenAI and vLLM read them.

/// Adds a token with `most` of the best tokens in its place, or of those that a request names.
void AddLogprobs(const ScoredToken& token, std::int64_t most, const TokenTexts& texts,
                 v1::CompletionLogprobs& message);
/// The same of a token of a message. The token itself is among the best only if it is one of them.
void AddLogprobs(const ScoredToken& token, std::int64_t most, const TokenTexts& texts,
                 v1::ChatLogprobs& message);
/// Adds a token without log-probability, such as the first of a text.
void AddUnscored(TokenId id, std::int64_t text_offset, const TokenTexts& texts,
                 v1::CompletionLogprobs& message);
/// The same of a prompt's token, whose rank was read, in the form of `prompt_logprobs`.
void AddRanked(const ScoredToken& token, std::int64_t most, const TokenTexts& texts,
               v1::RankedTokens& message);

/// Which rows of prompts are read.
struct PromptRows {
  std::int64_t first = 0;
  std::int64_t best = 0;   ///< Number of most likely tokens.
  proto::LabelList named;  ///< Further tokens.
  bool ranks = false;      ///< With the ranks of the prompt's own tokens.
};

/// Reads every row of a prompt from the first one on, but the last one, for the log-probability of
/// the token after it.
void AddPromptReads(const PromptRows& read, proto::PackedSequence& prompt);

/// The tokens after these rows, from what was read. Nothing if a number is not finite.
std::optional<std::vector<ScoredToken>> ScorePrompt(std::span<const TokenId> tokens,
                                                    const PromptRows& read,
                                                    std::span<const proto::RowLogits> rows);

/// A prompt that its completions repeat.
struct EchoedPrompt {
  const Tokenizer* tokenizer = nullptr;  ///< Null if the model has none.
  std::span<const TokenId> tokens;
  bool is_text = false;                ///< It was given as a text.
  bool skip_special_tokens = false;    ///< Special tokens of ids have no text.
  std::int64_t echoed_characters = 0;  ///< Length of the text that is repeated.
};

/// [tokens] Where the text of each token begins, in characters of the text that is repeated. This
/// is that of the tokens, except where the tokenizer normalizes a text.
std::vector<std::int64_t> TextOffsets(const EchoedPrompt& prompt);

}  // namespace scorecast::coordinator
