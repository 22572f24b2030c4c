#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// How tokens are spelled one by one: by the text that each has in the middle of a text, so that a
/// token of SentencePiece keeps its space.
class TokenTexts {
 public:
  /// `tokenizer` may be null; tokens then have no text, and are spelled as ids. Otherwise it must
  /// outlive the object. With `as_ids` all tokens are spelled as ids.
  TokenTexts(const Tokenizer* tokenizer, bool as_ids);

  /// The bytes of a token's text. They may begin or end within a character.
  std::string BytesOf(TokenId id) const;

  /// The text of a token; "bytes:\xe4\xb8", with backslashes, if it has a part of a character; or
  /// "token_id:7" of a token that is spelled as its id.
  std::string SpellingOf(TokenId id) const;
  /// The same of a token whose BytesOf are known.
  std::string SpellingOf(TokenId id, std::string bytes) const;

  /// Spellings that all differ: a token that would be spelled as one before it is spelled as its
  /// id.
  std::vector<std::string> DistinctSpellingsOf(std::span<const TokenId> ids) const;

 private:
  const Tokenizer* const tokenizer_;
  const bool as_ids_;
  /// Stands before a token that is decoded, or behind it if the token has the space there.
  std::vector<TokenId> lead_;
  std::string lead_text_;
};

/// Number of characters of a text, which must be valid UTF-8.
std::int64_t CountCharacters(std::string_view text);

}  // namespace scorecast::coordinator
