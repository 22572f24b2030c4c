#pragma once

#include <string_view>
#include <unordered_map>

#include "coordinator/text/bpe_model.h"
#include "coordinator/text/json_cursor.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// Ids from 0 to this are taken; the largest vocabularies have about 262,144.
inline constexpr proto::TokenId kMaxTokenId = (1 << 22) - 1;

struct ReadModel {
  BpeModel::Data model;
  /// The vocabulary as the file spells it; views into the document.
  std::unordered_map<std::string_view, proto::TokenId> ids;
};

/// Reads the `model` of a tokenizer.json: byte-level BPE, merges as "a b" or ["a", "b"]. Throws
/// StartupError where it is broken or asks for something else (another kind of model, dropout, byte
/// fallback, prefixes or suffixes of words, an unknown token that could come up).
ReadModel ReadBpeModel(const JsonCursor& model);

}  // namespace scorecast::coordinator
