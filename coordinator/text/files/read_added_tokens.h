#pragma once

#include <vector>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/steps/added_tokens.h"

namespace scorecast::coordinator {

// Each function throws StartupError if the value is malformed or an id is out of range.

/// Reads an entry of `added_tokens` of a tokenizer.json: an object with `id`, `content` and flags.
AddedToken ReadAddedToken(const JsonCursor& entry);

/// Reads `added_tokens_decoder` of a tokenizer_config.json: objects with `content` and flags, by
/// id.
std::vector<AddedToken> ReadAddedTokensDecoder(const JsonCursor& decoder);

/// Reads an added_tokens.json: ids by text. The tokens have no flags.
std::vector<AddedToken> ReadAddedTokensFile(const JsonCursor& root);

}  // namespace scorecast::coordinator
