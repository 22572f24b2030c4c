#pragma once

#include <vector>

#include "coordinator/text/files/json_cursor.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// Tokens that a tokenizer adds before and after a text.
struct AddedAround {
  std::vector<proto::TokenId> prefix;
  std::vector<proto::TokenId> suffix;
};

/// Reads the `post_processor` of a tokenizer.json: ByteLevel, TemplateProcessing (its `single`),
/// RobertaProcessing, BertProcessing, or a Sequence of them. Throws StartupError if it is
/// malformed, needs something that is not supported, or names an id that is not below `vocab_size`.
AddedAround ReadPostProcessor(const JsonCursor& post_processor, std::int64_t vocab_size);

}  // namespace scorecast::coordinator
