#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/models/bpe_model.h"
#include "coordinator/text/models/unigram_model.h"
#include "coordinator/text/models/word_piece_model.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// Largest id that is accepted; the largest vocabularies have about 262,144 tokens.
inline constexpr proto::TokenId kMaxTokenId = (1 << 22) - 1;

using IdBySpelling = std::unordered_map<std::string_view, proto::TokenId>;

struct ReadModel {
  std::variant<BpeModel, UnigramModel, WordPieceModel> model;
  std::string_view kind;  ///< See Tokenizer::kind.
  /// The vocabulary in the file's spelling; views into the document.
  IdBySpelling ids;
  /// Number of tokens, also of those of a list that have one text.
  std::int64_t size = 0;
};

/// Reads the `model` of a tokenizer.json: BPE, Unigram or WordPiece. `is_byte_level` says that its
/// pieces are spelled in the alphabet of bytes (see byte_alphabet.h). Throws StartupError if it is
/// malformed or needs something that is not supported.
ReadModel ReadTokenizerModel(const JsonCursor& model, bool is_byte_level);

/// Reads the `vocab` of a BPE or WordPiece model: ids by text.
IdBySpelling ReadVocabulary(const JsonCursor& vocabulary);

/// The tokens <0x00> … <0xFF>; −1 for a token that the vocabulary lacks.
std::array<proto::TokenId, 256> FallbackTokens(const IdBySpelling& ids);

}  // namespace scorecast::coordinator
