#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "coordinator/text/models/longest_tokens.h"
#include "coordinator/text/unicode/character_pairs.h"
#include "coordinator/text/unicode/open_text.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

// What a serialized SentencePiece model says, and the library does not tell.

/// The user-defined symbols of a model: their ids and texts, in order. Each is a single token
/// wherever it occurs in a text. `model` must be a model that the library has loaded.
std::vector<std::pair<proto::TokenId, std::string>> UserDefinedPieces(std::string_view model);

/// Places at which a SentencePiece model certainly cuts a text, whatever follows. In BPE models
/// without normalization rules, these are all places between two characters that are neighbours in
/// no piece. Other models have no such places.
class SentencePieceCuts {
 public:
  /// Reads a serialized ModelProto, which must be valid.
  explicit SentencePieceCuts(std::string_view model);

  /// Whether the model removes spaces at both ends of a text, and all but one of several spaces in
  /// a row.
  bool removes_extra_spaces() const { return removes_extra_spaces_; }

  /// Moves the beginning of a text with an open end behind the last such place.
  void GoToLast(OpenPiece& piece) const;

  /// A lower bound on the number of tokens of every text that contains `text`.
  std::int64_t LeastTokens(std::string_view text) const;

 private:
  void AddPiece(std::string_view piece, bool is_normal);

  bool is_known_ = false;           ///< False: no cut is certain.
  bool keeps_characters_ = false;   ///< All characters of a text but spaces are in its tokens.
  bool has_byte_fallback_ = false;  ///< Other characters become tokens of their bytes.
  bool removes_extra_spaces_ = true;
  std::unordered_set<char32_t> characters_;  ///< Pieces of one character.
  /// The normal pieces among them: such a character of a text becomes a token, alone or with
  /// others.
  std::unordered_set<char32_t> normal_characters_;
  CharacterPairs pairs_;
  LongestTokens longest_;
};

}  // namespace scorecast::coordinator
