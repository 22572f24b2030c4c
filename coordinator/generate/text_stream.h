#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// The text of tokens that come one by one, as it continues the text of those before them: all of
/// it together is Decode(context + tokens) after what that shares with Decode(context), in whole
/// characters. The cost of a token does not grow with the number of those before it.
class TextStream {
 public:
  /// `tokenizer` outlives the stream.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> context);

  /// What is certain of the text by now and was not returned before: valid UTF-8. Bytes of a
  /// character that is not complete wait, and so do the last three U+FFFD, which may be such.
  std::string Push(TokenId token);

  /// The rest, where no token comes any more.
  std::string Finish();

 private:
  /// The text of the tokens that stand for all so far.
  std::string DecodeWindow() const;
  /// Of the window's text, where the answer's goes on.
  std::size_t Begin(const std::string& text) const;
  /// Drops tokens that cannot change the text of later ones. `text` is the window's.
  void Shorten(const std::string& text);

  const Tokenizer& tokenizer_;
  /// Tokens that lose a space at the beginning of a text. Where they do not, a text has begun, and
  /// they may stand in place of what it began with. Empty where tokens have the same text
  /// everywhere.
  std::vector<TokenId> lead_;
  bool begun_;           ///< Whether lead_, after the tokens so far, loses nothing.
  bool is_led_ = false;  ///< lead_ stands before the window.
  std::vector<TokenId> window_;
  std::string before_;    ///< What the window's text began with before the answer's.
  std::size_t done_ = 0;  ///< Of the window's text: what is certain and was looked at.
};

}  // namespace scorecast::coordinator
