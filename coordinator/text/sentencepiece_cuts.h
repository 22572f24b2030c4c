#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "coordinator/text/models/longest_tokens.h"
#include "coordinator/text/unicode/character_pairs.h"
#include "coordinator/text/unicode/open_text.h"

namespace scorecast::coordinator {

/// Where a SentencePiece model certainly cuts a text, whatever follows it: in BPE models without
/// normalization rules, between two characters that are neighbours in no piece. In other models,
/// nowhere.
class SentencePieceCuts {
 public:
  /// Reads a serialized ModelProto, which must be valid.
  explicit SentencePieceCuts(std::string_view model);

  /// Whether the model removes spaces at a text's ends, and all but one of several.
  bool removes_extra_spaces() const { return removes_extra_spaces_; }

  /// Goes on behind the last such place of a text with an open end.
  void GoToLast(OpenPiece& piece) const;

  /// The tokens of every text that contains `text` are at least so many.
  std::int64_t LeastTokens(std::string_view text) const;

 private:
  void AddPiece(std::string_view piece, bool is_normal);

  bool is_known_ = false;           ///< False: nothing is known of cuts.
  bool keeps_characters_ = false;   ///< Of a text, all but spaces are in its tokens.
  bool has_byte_fallback_ = false;  ///< What no piece contains becomes its bytes.
  bool removes_extra_spaces_ = true;
  std::unordered_set<char32_t> characters_;  ///< Pieces of one character.
  /// Those among them that text becomes if nothing else.
  std::unordered_set<char32_t> normal_characters_;
  CharacterPairs pairs_;
  LongestTokens longest_;
};

}  // namespace scorecast::coordinator
