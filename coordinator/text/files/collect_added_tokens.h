#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/steps/added_tokens.h"

namespace scorecast::coordinator {

/// Returns the added tokens of a tokenizer.json, `root`, and those that only `config` has. Adds
/// them to `ids`, the vocabulary by text, as views into the document and the configuration.
///
/// As in the reference, the flags of tokenizer.json count if both have a token, and the
/// vocabulary's id counts if the vocabulary has the token's text. Throws StartupError if two tokens
/// have one id, or if a token of tokenizer.json has two ids.
std::vector<AddedToken> CollectAddedTokens(
    const JsonCursor& root, const TokenizerConfig& config,
    std::unordered_map<std::string_view, proto::TokenId>& ids);

}  // namespace scorecast::coordinator
