#pragma once

#include <string_view>
#include <unordered_set>

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

 private:
  void AddPiece(std::string_view piece);

  bool is_known_ = false;  ///< False: nothing is known.
  bool removes_extra_spaces_ = true;
  std::unordered_set<char32_t> characters_;  ///< Pieces of one character.
  CharacterPairs pairs_;
};

}  // namespace scorecast::coordinator
