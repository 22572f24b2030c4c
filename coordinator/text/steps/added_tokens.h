#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/steps/normalizer.h"
#include "coordinator/text/steps/token_trie.h"
#include "coordinator/text/unicode/open_text.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// A token that stands for a fixed text. BPE never sees that text.
struct AddedToken {
  proto::TokenId id = 0;
  std::string content;
  bool special = false;
  bool single_word = false;  ///< Matches only if no word character is next to it.
  bool lstrip = false;       ///< The match includes the white space before it.
  bool rstrip = false;       ///< The match includes the white space after it.
  bool normalized = false;   ///< Its normalized form is searched for in the normalized text.
  /// If texts are escaped (SpecialTokensInText::kEscape), this token's text is ordinary text.
  bool escapable = false;
  bool is_unknown = false;  ///< The model gives it for text that the vocabulary lacks.
};

/// Finds added tokens in texts as Hugging Face's tokenizers library does (AddedVocabulary). Tokens
/// that are not `normalized` are searched for first, in the raw text. The text between them is then
/// normalized and searched for the `normalized` tokens. The leftmost match wins, then the longest.
class AddedTokens {
 public:
  /// A token and its text. If `id` is negative: a text without added tokens.
  struct Part {
    proto::TokenId id = -1;
    std::string_view text;
    std::size_t first_bytes = 0;  ///< As in StagedText.
  };

  /// If `splits_special`, special tokens are not searched for: their text is ordinary text.
  AddedTokens(std::vector<AddedToken> tokens, Normalizer normalizer, bool splits_special = false);

  /// Calls `part` for all parts of `text` (valid UTF-8), in order. A part's text is normalized if
  /// it has no token, and is valid only during the call. With kEscape, escapable tokens are not cut
  /// out.
  void Cut(std::string_view text, const EncodeOptions& options,
           const std::function<void(const Part&)>& part) const;

  /// The text of the escapable token with this id. Empty if no such token exists, or if it is the
  /// unknown token, because any text may become the unknown token.
  std::string_view EscapedSpelling(proto::TokenId id) const;

  /// The special token with this text, if special tokens are split.
  std::optional<proto::TokenId> SplitToken(std::string_view text) const;

  /// Moves to the last part of a text whose end is open, and normalizes that part.
  void GoToLast(const EncodeOptions& options, OpenPiece& text) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  void CutAt(const TokenTrie& trie, const Part& whole, SpecialTokensInText special_tokens,
             const std::function<void(const Part&)>& part) const;

  /// Moves to the text behind the last token of `trie`. Cuts off the end of the text from the place
  /// on at which a token may begin if more text follows.
  void GoBehindLast(const TokenTrie& trie, SpecialTokensInText special_tokens,
                    OpenPiece& piece) const;

  std::vector<AddedToken> tokens_;
  Normalizer normalizer_;
  bool splits_special_;
  TokenTrie raw_;                 ///< Tokens searched for in the raw text, as indices into tokens_.
  TokenTrie normalized_;          ///< Tokens searched for in the normalized text.
  std::string raw_words_;         ///< The first bytes of the `single_word` tokens in raw_.
  std::string normalized_words_;  ///< The same for normalized_.
  std::unordered_map<proto::TokenId, std::size_t> escapable_;  ///< As indices into tokens_.
};

}  // namespace scorecast::coordinator
