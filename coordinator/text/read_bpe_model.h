#pragma once

#include <string_view>
#include <unordered_map>

#include "coordinator/text/bpe_model.h"
#include "coordinator/text/json_cursor.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// Largest id that is accepted; the largest vocabularies have about 262,144 tokens.
inline constexpr proto::TokenId kMaxTokenId = (1 << 22) - 1;

struct ReadModel {
  BpeModel::Data model;
  /// The vocabulary in the file's spelling; views into the document.
  std::unordered_map<std::string_view, proto::TokenId> ids;
};

/// Reads the `model` of a tokenizer.json: byte-level BPE, with merges as "a b" or ["a", "b"].
/// Throws StartupError if it is malformed or needs something that is not supported: another kind of
/// model, dropout, byte fallback, prefixes or suffixes of words, or an unknown token that could
/// occur.
ReadModel ReadBpeModel(const JsonCursor& model);

}  // namespace scorecast::coordinator
