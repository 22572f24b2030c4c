#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_set>

#include "coordinator/text/character_pairs.h"

namespace scorecast::coordinator {

/// Where a SentencePiece model certainly cuts a text, whatever follows it: in BPE models without
/// normalization rules, between two characters that are neighbours in no piece. In other models,
/// nowhere.
class SentencePieceCuts {
 public:
  /// Reads a serialized ModelProto, which must be valid.
  explicit SentencePieceCuts(std::string_view model);

  /// The last such place of `text` (valid UTF-8), or 0.
  std::size_t Last(std::string_view text) const;

 private:
  void AddPiece(std::string_view piece);

  bool is_known_ = false;                    ///< False: nothing is known.
  bool removes_extra_spaces_ = true;         ///< Also at the beginning of a later section.
  std::unordered_set<char32_t> characters_;  ///< Pieces of one character.
  CharacterPairs pairs_;
};

}  // namespace scorecast::coordinator
