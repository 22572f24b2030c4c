#include "coordinator/text/steps/added_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

bool EndsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(LastCodePoint(text).value);
}

bool StartsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(FirstCodePoint(text).value);
}

std::size_t WhiteSpaceAtEnd(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    const CodePoint last = LastCodePoint(text.substr(0, text.size() - size));
    if (!IsWhiteSpace(last.value)) {
      break;
    }
    size += last.length;
  }
  return size;
}

std::size_t WhiteSpaceAtStart(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    const CodePoint first = FirstCodePoint(text.substr(size));
    if (!IsWhiteSpace(first.value)) {
      break;
    }
    size += first.length;
  }
  return size;
}

/// Begin of a match at byte `begin` that also takes the white space before it, back to byte `done`
/// at most. As in the reference, a match that begins before `done` then begins at `done`.
std::size_t WithWhiteSpaceBefore(std::string_view text, std::size_t begin, std::size_t done) {
  return begin < done ? done : begin - WhiteSpaceAtEnd(text.substr(done, begin - done));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, Normalizer normalizer, bool splits_special)
    : tokens_(std::move(tokens)),
      normalizer_(std::move(normalizer)),
      splits_special_(splits_special) {
  // If two tokens become equal by normalization, the special one wins, as in the reference.
  for (const bool special : {true, false}) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const AddedToken& token = tokens_[i];
      if (token.special != special || (special && splits_special_)) {
        continue;
      }
      const std::string text = token.normalized ? normalizer_.Apply(token.content) : token.content;
      (token.normalized ? normalized_ : raw_).Insert(text, i);
      if (token.single_word) {
        (token.normalized ? normalized_words_ : raw_words_) += text.substr(0, 1);
      }
    }
  }
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].escapable && !tokens_[i].is_unknown) {
      escapable_.emplace(tokens_[i].id, i);
    }
  }
}

std::string_view AddedTokens::EscapedSpelling(proto::TokenId id) const {
  const auto entry = escapable_.find(id);
  return entry == escapable_.end() ? std::string_view() : tokens_[entry->second].content;
}

std::optional<proto::TokenId> AddedTokens::SplitToken(std::string_view text) const {
  for (const AddedToken& token : tokens_) {
    if (splits_special_ && token.special && token.content == text) {
      return token.id;
    }
  }
  return std::nullopt;
}

void AddedTokens::Cut(std::string_view text, const EncodeOptions& options,
                      const std::function<void(const Part&)>& part) const {
  const bool is_first = !text.empty() && !options.behind_token;
  const Part whole = {.text = text, .first_bytes = is_first ? FirstCodePoint(text).length : 0};
  CutAt(raw_, whole, options.special_tokens, [&](const Part& raw) {
    if (raw.id >= 0) {
      part(raw);
    } else if (normalizer_.empty()) {
      CutAt(normalized_, raw, options.special_tokens, part);
    } else {
      const StagedText staged = normalizer_.Apply(
          {.text = std::string(raw.text), .first_bytes = raw.first_bytes}, options.at_start);
      CutAt(normalized_, {.text = staged.text, .first_bytes = staged.first_bytes},
            options.special_tokens, part);
    }
  });
}

void AddedTokens::CutAt(const TokenTrie& trie, const Part& whole,
                        SpecialTokensInText special_tokens,
                        const std::function<void(const Part&)>& part) const {
  const std::string_view text = whole.text;
  const auto text_part = [&](std::size_t begin, std::size_t end) {
    part({.text = text.substr(begin, end - begin),
          .first_bytes = std::min(end, std::max(begin, whole.first_bytes)) - begin});
  };
  std::size_t done = 0;  // All text before this byte has been reported.
  std::size_t at = trie.empty() ? text.size() : 0;
  while (at < text.size()) {
    const std::optional<TokenTrie::Match> match = trie.LongestPrefix(text.substr(at));
    if (!match) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match->index];
    std::size_t begin = at;
    std::size_t end = at + match->length;
    // As in the reference, the search continues right after the match. This holds even if the match
    // is rejected or has taken white space.
    at = end;
    if (token.escapable && special_tokens == SpecialTokensInText::kEscape) {
      continue;
    }
    if (token.single_word &&
        (EndsWithWord(text.substr(0, begin)) || StartsWithWord(text.substr(end)))) {
      continue;
    }
    if (token.lstrip) {
      begin = WithWhiteSpaceBefore(text, begin, done);
    }
    if (token.rstrip) {
      end += WhiteSpaceAtStart(text.substr(end));
    }
    if (begin >= end) {
      continue;  // The token before it has taken it as white space.
    }
    if (done < begin) {
      text_part(done, begin);
    }
    part({.id = token.id, .text = text.substr(begin, end - begin)});
    done = end;
  }
  if (done < text.size()) {
    text_part(done, text.size());
  }
}

void AddedTokens::GoToLast(const EncodeOptions& options, OpenPiece& text) const {
  GoBehindLast(raw_, options.special_tokens, text);
  normalizer_.Apply(text, options.at_start);
  GoBehindLast(normalized_, options.special_tokens, text);
}

void AddedTokens::GoBehindLast(const TokenTrie& trie, SpecialTokensInText special_tokens,
                               OpenPiece& piece) const {
  if (trie.empty()) {
    return;
  }
  const std::string_view text = piece.text.text;
  std::optional<std::size_t> last;  // The start of the last token.
  std::size_t done = 0;             // The end of the last token.
  std::size_t rejected = 0;         // The end of the last match that is no token.
  std::size_t at = 0;
  while (at < text.size() && !trie.MayContinue(text.substr(at))) {
    const std::optional<TokenTrie::Match> match = trie.LongestPrefix(text.substr(at));
    if (!match) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match->index];
    std::size_t begin = at;
    std::size_t end = at + match->length;
    const bool is_escaped = token.escapable && special_tokens == SpecialTokensInText::kEscape;
    const bool is_after_word = token.single_word && EndsWithWord(text.substr(0, begin));
    if (token.single_word && !is_escaped && !is_after_word && end == text.size()) {
      break;  // A word character may follow.
    }
    at = end;
    if (is_escaped || is_after_word || (token.single_word && StartsWithWord(text.substr(end)))) {
      rejected = end;
      continue;
    }
    const bool overlaps = begin < done;
    if (token.lstrip) {
      begin = WithWhiteSpaceBefore(text, begin, done);
    }
    if (token.rstrip) {
      end += WhiteSpaceAtStart(text.substr(end));
    }
    if (begin >= end) {
      continue;
    }
    // If a text begins inside of an earlier match, the search in it takes other steps. So it cannot
    // be cut there.
    last = overlaps || begin < rejected ? std::nullopt : std::optional(begin);
    done = end;
  }
  // A token may begin behind `at`. If `done` is the end of the text, a token with `rstrip` may take
  // more white space.
  std::size_t end = std::max(at, done);
  if (std::any_of(tokens_.begin(), tokens_.end(),
                  [](const AddedToken& token) { return token.lstrip; })) {
    end -= WhiteSpaceAtEnd(text.substr(done, end - done));
  }
  OpenText& open = piece.text;
  // A token that must not follow a word character would be found if the text began with that token.
  // So there is no cut before it.
  const std::string& firsts = &trie == &normalized_ ? normalized_words_ : raw_words_;
  for (std::size_t i = done; i <= end && !firsts.empty(); ++i) {
    const bool may_begin = i == text.size() || firsts.find(text[i]) != std::string::npos;
    if (may_begin && open.places[i] != OpenText::kNoPlace && EndsWithWord(text.substr(0, i))) {
      open.places[i] = OpenText::kNoPlace;
    }
  }
  open.ForgetPlaces(done, rejected);
  if (done > 0) {
    piece.is_first = false;
    if (last && *last > 0 && open.places[*last] != OpenText::kNoPlace) {
      piece.cut = open.places[*last];
    }
    // The text behind a token gets what is put before a text, but a later section does not get it.
    // So there is no cut.
    open.places[done] = OpenText::kNoPlace;
  }
  open.Keep(done, end);
}

}  // namespace scorecast::coordinator
