#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// Decodes tokens that arrive one by one. Their text continues the text of a context. The pieces
/// joined are Decode(context + tokens) without the whole characters at the beginning that are the
/// same as in Decode(context). The cost of a token does not grow with the number of tokens before
/// it.
class TextStream {
 public:
  /// `tokenizer` must outlive the stream.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> context);

  /// Adds a token. Returns the text that no later token can change and that was not returned
  /// before, as valid UTF-8. Holds back the text of open tokens (see Tokenizer::TextState), the
  /// bytes of an incomplete character, and up to three U+FFFD at the end, which may stand for such
  /// bytes.
  std::string Push(TokenId token) { return Push({&token, 1}); }
  /// The same for several tokens. Their text is returned together.
  std::string Push(std::span<const TokenId> tokens);

  /// Returns the rest of the text. No token may follow.
  std::string Finish();

 private:
  /// Updates the state after a token, because the token may settle the text before it.
  void Note(TokenId token);
  /// Length of the beginning of the window's text that no further token can change.
  std::size_t CertainLength(std::string_view text) const;
  /// The text of the window. The window's tokens stand for all tokens so far.
  std::string DecodeWindow() const;
  /// Offset in the window's text of the text that was not returned yet.
  std::size_t Begin(const std::string& text) const;
  /// Drops tokens that cannot change the text of later ones. `text` is the text of the window.
  void Shorten(const std::string& text);

  const Tokenizer& tokenizer_;
  /// Whether the last token stays in the window, because it decides about a space behind it. Then
  /// lead_ is empty.
  bool keeps_last_;
  /// Tokens that lose their space at the beginning of a text. If they keep the space after other
  /// tokens, these tokens have begun the text, and lead_ may stand in for them. Empty if the
  /// tokenizer gives a token the same text everywhere.
  std::vector<TokenId> lead_;
  bool begun_;           ///< lead_ keeps its space after the tokens so far.
  bool is_led_ = false;  ///< lead_ stands before the window.
  /// State of the last token that has text; the text before the first token is settled.
  Tokenizer::TextState state_ = Tokenizer::TextState::kSettled;
  std::vector<TokenId> window_;
  std::string before_;    ///< The beginning of the window's text that belongs to the context.
  std::size_t done_ = 0;  ///< Length of the window's text that was returned or skipped.
};

}  // namespace scorecast::coordinator
