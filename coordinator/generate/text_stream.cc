#include "coordinator/generate/text_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using State = Tokenizer::TextState;

namespace {

constexpr std::string_view kReplacement = "\uFFFD";

/// Bytes of a four-byte character that lacks its last byte. SentencePiece decodes each as U+FFFD.
constexpr int kOpenBytes = 3;

/// A window of more than kMostTokens tokens is cut to its last kKeptTokens tokens that have text.
/// This does not change the open text at the end: decoding from any place of a text gives the same
/// characters from the fourth byte on, and the open text is at most kOpenBytes U+FFFD, each for up
/// to three bytes. So the last 3 + 9 bytes decode to the same open text.
constexpr std::size_t kMostTokens = 32;
constexpr std::size_t kKeptTokens = 16;

/// Number of bytes of the characters with which both texts begin.
std::size_t SharedLength(std::string_view a, std::string_view b) {
  std::size_t length = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  while (length < a.size() && length > 0 &&
         (static_cast<unsigned char>(a[length]) & 0xC0) == 0x80) {
    --length;
  }
  return length;
}

std::vector<TokenId> Together(std::span<const TokenId> a, std::span<const TokenId> b) {
  std::vector<TokenId> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

/// Tokens that lose a space at the beginning of a text; empty if the tokenizer has no such tokens.
std::vector<TokenId> TokensThatLoseASpace(const Tokenizer& tokenizer) {
  // The last token must be settled, because otherwise it would change the text after it. In a small
  // vocabulary a letter may be a byte.
  for (const std::string_view words : {"q x", "e e", "a a", "o o", "1 1"}) {
    const std::vector<TokenId> ids = tokenizer.Encode(words);
    const std::string text = tokenizer.Decode(ids);
    if (ids.empty() || tokenizer.StateOf(ids.back()) == State::kOpen) {
      continue;
    }
    for (std::size_t i = 1; i < ids.size(); ++i) {
      const std::span<const TokenId> head = std::span(ids).first(i);
      const std::span<const TokenId> tail = std::span(ids).subspan(i);
      if (tokenizer.Decode(head) + " " + tokenizer.Decode(tail) == text) {
        return {tail.begin(), tail.end()};
      }
    }
    return {};
  }
  return {};
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const TokenId> context)
    : tokenizer_(tokenizer),
      keeps_last_(tokenizer.HasSpacesOfLastToken()),
      lead_(keeps_last_ ? std::vector<TokenId>() : TokensThatLoseASpace(tokenizer)),
      begun_(lead_.empty()),
      window_(context.begin(), context.end()),
      before_(DecodeWindow()) {
  std::size_t settled = 0;  // Number of tokens up to the last one that is not open.
  for (std::size_t i = 0; i < context.size(); ++i) {
    Note(context[i]);
    settled = state_ == State::kOpen ? settled : i + 1;
  }
  if (state_ == State::kOpen) {
    done_ = tokenizer.Decode(context.first(settled)).size();
  } else {
    done_ = CertainLength(before_);
    Shorten(before_);
  }
}

std::string TextStream::Push(std::span<const TokenId> tokens) {
  window_.insert(window_.end(), tokens.begin(), tokens.end());
  for (const TokenId token : tokens) {
    Note(token);
  }
  if (state_ == State::kOpen) {
    return "";
  }
  const std::string text = DecodeWindow();
  const std::size_t begin = Begin(text);
  const std::size_t end = CertainLength(text);
  done_ = end;
  std::string certain = begin < end ? text.substr(begin, end - begin) : std::string();
  Shorten(text);
  return certain;
}

std::string TextStream::Finish() {
  const std::string text = DecodeWindow();
  std::string rest = text.substr(Begin(text));
  done_ = text.size();
  return rest;
}

void TextStream::Note(TokenId token) {
  const State state = tokenizer_.StateOf(token);
  state_ = state == State::kAbsent ? state_ : state;
}

std::size_t TextStream::CertainLength(std::string_view text) const {
  for (int i = 0; i < kOpenBytes && state_ == State::kCharacters && text.ends_with(kReplacement);
       ++i) {
    text.remove_suffix(kReplacement.size());
  }
  return text.size();
}

std::string TextStream::DecodeWindow() const {
  return tokenizer_.Decode(is_led_ ? Together(lead_, window_) : window_);
}

std::size_t TextStream::Begin(const std::string& text) const {
  return std::max(done_, SharedLength(text, before_));
}

void TextStream::Shorten(const std::string& text) {
  if (!begun_) {
    const std::string next = tokenizer_.Decode(Together(window_, lead_));
    const std::string at_beginning = tokenizer_.Decode(lead_);
    if (next == text + " " + at_beginning) {
      begun_ = true;
    } else if (next != text + at_beginning) {
      return;
    }
  }
  std::vector<TokenId> kept;
  if (keeps_last_) {
    for (auto token = window_.rbegin(); token != window_.rend() && kept.empty(); ++token) {
      if (tokenizer_.StateOf(*token) != State::kAbsent) {
        kept.push_back(*token);
      }
    }
  } else if (done_ < text.size()) {
    if (window_.size() <= kMostTokens) {
      return;
    }
    const std::string lead_text = tokenizer_.Decode(lead_);
    for (auto token = window_.rbegin(); token != window_.rend() && kept.size() < kKeptTokens;
         ++token) {
      if (tokenizer_.Decode(Together(lead_, {&*token, 1})) != lead_text) {
        kept.push_back(*token);
      }
    }
    std::reverse(kept.begin(), kept.end());
  }
  const std::size_t open = text.size() - done_;
  const std::size_t still_to_come = text.size() - Begin(text);
  window_ = std::move(kept);
  is_led_ = begun_ && !lead_.empty();
  const std::string shortened = DecodeWindow();
  proto::Check(shortened.size() >= open, "the tokens kept have the open bytes");
  done_ = shortened.size() - open;
  before_ = shortened.substr(0, shortened.size() - still_to_come);
}

}  // namespace scorecast::coordinator
