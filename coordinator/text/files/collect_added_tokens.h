#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/steps/added_tokens.h"

namespace scorecast::coordinator {

/// Returns the added tokens of a tokenizer.json, `root`, and those that only `config` has, and adds
/// them to `ids`, the vocabulary by text, as views into the document and the configuration. The
/// flags of tokenizer.json count if both have a token, and the id of the vocabulary if it has the
/// text, as in the reference. Throws StartupError if two tokens have one id, or a token of
/// tokenizer.json two ids.
std::vector<AddedToken> CollectAddedTokens(
    const JsonCursor& root, const TokenizerConfig& config,
    std::unordered_map<std::string_view, proto::TokenId>& ids);

}  // namespace scorecast::coordinator
