#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coordinator/text/models/longest_tokens.h"
#include "coordinator/text/models/merge_table.h"
#include "coordinator/text/models/token_collector.h"
#include "coordinator/text/unicode/character_pairs.h"
#include "coordinator/text/unicode/open_text.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// BPE. A piece of text starts as its characters or, in byte-level BPE, as its bytes. The
/// neighbours whose merge has the lowest rank (the leftmost if there are several) are merged, until
/// no two neighbours have a merge. Immutable.
class BpeModel {
 public:
  /// Allows lookups in a map of strings by string_view.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using IdByText = std::unordered_map<std::string, proto::TokenId, TextHash, std::equal_to<>>;

  /// A token for each of the 256 bytes; −1 for a byte without one.
  using ByteTokens = std::array<proto::TokenId, 256>;

  /// The tokens of the last character (or byte) of a piece, if they have a suffix there. They are
  /// spelled with it.
  struct WordEnd {
    std::string suffix;
    std::unordered_map<char32_t, proto::TokenId> character_tokens;
    ByteTokens byte_tokens{};
  };

  struct Data {
    /// The token of each character. Absent in byte-level BPE, which uses `byte_tokens`.
    std::optional<std::unordered_map<char32_t, proto::TokenId>> character_tokens;
    ByteTokens byte_tokens{};
    std::optional<WordEnd> word_end;

    // Used for a character (or byte) without a token. The character becomes the tokens of its UTF-8
    // bytes in `fallback` if all of them have one, or else the `unknown` token. If there is no
    // unknown token, the character is left out.
    std::optional<ByteTokens> fallback;
    std::optional<proto::TokenId> unknown;
    bool fuse_unknown = false;  ///< Unknown neighbours become one token.

    MergeTable merges{0};
    /// For `ignore_merges`: a piece whose text is a token becomes that token without merging. Keys
    /// are spelled in the same way as pieces.
    IdByText whole_pieces;
    /// The pairs of characters in all tokens. In byte-level BPE, a byte counts as the character
    /// with its value.
    CharacterPairs pairs;
    /// In byte-level BPE, its symbols are bytes.
    LongestTokens longest;
  };

  explicit BpeModel(Data data) : data_(std::move(data)) {}

  /// Adds the tokens of `piece`. O(n log n).
  void Encode(std::string_view piece, TokenCollector& tokens) const;

  /// A lower bound on the number of tokens of every text that contains `text`.
  std::int64_t LeastTokens(std::string_view text) const;

  /// Moves the beginning of a piece with an open end behind the last place at which no merge is
  /// possible.
  void GoToLast(OpenPiece& piece) const;

 private:
  class Beginning;

  /// The token of the character (or byte) at the beginning of `text`; −1 if it has none. `is_last`
  /// says that it ends a piece.
  proto::TokenId FirstToken(std::string_view text, bool is_last) const;
  /// Whether a character becomes a token, or the tokens of its bytes, at every place of a piece.
  bool HasToken(std::string_view character) const;
  bool FallsBack(std::string_view character) const;

  /// Adds what merging begins with. `is_end` says that the part ends its piece.
  void Begin(std::string_view part, bool is_end, Beginning& beginning) const;
  void EncodeMerged(std::string_view part, bool is_end, TokenCollector& tokens) const;
  /// The end of the first part of `piece` that can be merged by itself. It is the first place,
  /// after some thousand bytes, at which no merge is possible.
  std::size_t EndOfPart(std::string_view piece) const;
  bool IsBorder(std::string_view piece, std::size_t at) const;

  Data data_;
};

}  // namespace scorecast::coordinator
