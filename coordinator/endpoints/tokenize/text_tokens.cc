#include "coordinator/endpoints/tokenize/text_tokens.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>

#include "coordinator/generate/text_stream.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// What a part of a character is decoded to.
constexpr std::string_view kReplacement = "\uFFFD";

/// Whether the text of a token has characters before a part of one at its end. Parts of a character
/// alone are those of the character whose place the token has.
bool EndsWithinACharacter(std::string_view text) {
  const bool ends_with_part = text.ends_with(kReplacement);
  while (text.ends_with(kReplacement)) {
    text.remove_suffix(kReplacement.size());
  }
  return ends_with_part && !text.empty();
}

std::size_t NumCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Finds the places of tokens in their text, one token after the other.
class PlaceFinder {
 public:
  PlaceFinder(const Tokenizer& tokenizer, std::string_view text)
      : tokenizer_(tokenizer), stream_(tokenizer, {}), rest_(text) {}

  /// Tokens are given in their order. `token` stays where it is as long as it is open.
  void Push(TextToken& token) {
    without_text_.push_back(&token);
    Take(stream_.Push(token.id));
    if (token.start && EndsWithinACharacter(tokenizer_.Decode({&token.id, 1}))) {
      IncludeNextCharacter(token);
    }
  }
  void Finish() { Take(stream_.Finish()); }

  /// How many of the last tokens may still get a place.
  std::size_t open() const { return without_text_.size(); }

 private:
  /// Gives `piece`, the text that has become certain, to the tokens that had no text yet.
  void Take(std::string_view piece) {
    is_lost_ = is_lost_ || !rest_.starts_with(piece);
    if (is_lost_) {
      without_text_.clear();
      return;
    }
    if (piece.empty()) {
      return;
    }
    const std::size_t start = place_;
    place_ += NumCharacters(piece);
    rest_.remove_prefix(piece.size());
    // Tokens that are parts of one character have the place of the whole character.
    if (without_text_.size() == 1 || place_ == start + 1) {
      for (TextToken* token : without_text_) {
        token->text = piece;
        token->start = start;
        token->stop = place_;
      }
    }
    without_text_.clear();
  }

  /// Gives `token`, which ends with a part of a character, that whole character.
  void IncludeNextCharacter(TextToken& token) const {
    if (!rest_.empty() && !token.text.ends_with(kReplacement)) {
      token.text += rest_.substr(0, FirstCodePoint(rest_).length);
      ++*token.stop;
    }
  }

  const Tokenizer& tokenizer_;
  TextStream stream_;
  std::string_view rest_;  ///< The text behind the last place.
  std::size_t place_ = 0;  ///< Where it begins.
  bool is_lost_ = false;   ///< The tokens decode to another text.
  std::vector<TextToken*> without_text_;
};

}  // namespace

Expected<std::vector<TokenId>, EncodeFault> IdsOfText(const Tokenizer& tokenizer,
                                                      std::string_view text,
                                                      bool add_special_tokens,
                                                      const EncodeOptions& options,
                                                      const EncodeLimits& limits) {
  Expected<EncodedText, EncodeFault> encoded = tokenizer.EncodeWithin(limits, text, options);
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  std::vector<TokenId> ids = std::move(encoded->ids);
  if (add_special_tokens) {
    ids.insert(ids.begin(), tokenizer.added_prefix().begin(), tokenizer.added_prefix().end());
    ids.insert(ids.end(), tokenizer.added_suffix().begin(), tokenizer.added_suffix().end());
  }
  return ids;
}

Expected<std::size_t, EncodeFault> FindTokens(const Tokenizer& tokenizer, std::string_view text,
                                              bool add_special_tokens, const EncodeOptions& options,
                                              const EncodeLimits& limits,
                                              const std::function<void(const TextToken&)>& found) {
  const Expected<std::vector<TokenId>, EncodeFault> ids =
      IdsOfText(tokenizer, text, add_special_tokens, options, limits);
  if (!ids) {
    return Unexpected(ids.error());
  }
  const std::size_t begin = add_special_tokens ? tokenizer.added_prefix().size() : 0;
  const std::size_t end = ids->size() - (add_special_tokens ? tokenizer.added_suffix().size() : 0);
  PlaceFinder places(tokenizer, text);
  std::deque<TextToken> tokens;  // The open ones last.
  const auto pass_on = [&](std::size_t open) {
    for (; tokens.size() > open; tokens.pop_front()) {
      TextToken& token = tokens.front();
      if (!token.start) {
        token.text = tokenizer.Decode({&token.id, 1});
      }
      found(token);
    }
  };
  const auto add = [&](std::span<const TokenId> added) {
    for (const TokenId& id : added) {
      found({.id = id, .text = tokenizer.Decode({&id, 1}), .is_added = true});
    }
  };
  const std::span<const TokenId> all = *ids;
  add(all.first(begin));
  for (const TokenId id : all.subspan(begin, end - begin)) {
    if (ShouldStop(limits.interruption)) {
      return Unexpected(EncodeFault::kStopped);
    }
    places.Push(tokens.emplace_back(TextToken{.id = id}));
    pass_on(places.open());
  }
  places.Finish();
  pass_on(0);
  add(all.subspan(end));
  return ids->size();
}

}  // namespace scorecast::coordinator
