#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/request/chunk_options.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/values.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A prompt before it is tokenized: views of the request's fields.
struct PromptParts {
  TextOrIds system_prompt;  ///< All of an ordinary prompt.
  std::vector<TextOrIds> chunks;
  std::vector<TextOrIds> questions;  ///< Empty if the prompt is an ordinary one.
  /// The name of each question's field in the request; that of the prompt if it is one field.
  std::vector<std::string> names;
  bool is_one_field = false;                                  ///< All parts are those of one field.
  std::optional<std::span<const std::int64_t>> chunk_groups;  ///< Absent: each chunk is alone.
  ChunkPositionStrategy strategy = ChunkPositionStrategy::kShared;
  std::int64_t max_new_tokens = 0;  ///< Of each completion. With 0, none is generated.
  bool adds_special_tokens = true;  ///< BOS, before a text.
  /// Of an ordinary prompt, only so many of the last tokens are kept, and BOS. -1: as many as the
  /// model has positions for, with a completion.
  std::optional<std::int64_t> truncate_to;
  bool can_be_truncated = false;  ///< The request could have `truncate_prompt_tokens`.

  /// The end of the message that says that the parts have too many positions.
  std::string CutHint() const {
    return can_be_truncated ? " truncate_prompt_tokens=-1 cuts the prompt." : kNothingIsCut;
  }
};

/// The parts of a prompt that is one field, `name`. A text is split at its separators if `options`
/// say so and it has two or more; every other prompt is an ordinary one.
PromptParts PartsOfPrompt(TextOrIds prompt, std::string name, const ChunkOptions& options);

/// The parts of a prompt as tokens.
struct PromptTokens {
  std::vector<TokenId> prefix;  ///< With BOS if it is text and the tokenizer adds one.
  std::vector<ChunkGroup> groups;
  std::vector<std::vector<TokenId>> questions;  ///< Empty if the prompt is an ordinary one.

  std::size_t num_chunks() const;
};

/// Tokenizes each part separately. A 400 if text and ids are mixed, if a question or an ordinary
/// prompt is empty, if there are too many parts, if a chunk is too long, if the groups do not add
/// up to the chunks, or if an id is not in the vocabulary. Texts that together have far too many
/// positions, or too many tokens for the K/V of this server, are not tokenized to their ends.
proto::Expected<PromptTokens> TokenizePrompt(const PromptParts& parts,
                                             const RequestContext& context);

}  // namespace scorecast::coordinator
