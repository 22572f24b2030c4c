#include "coordinator/chat/chat_tokens.h"

#include <algorithm>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

ChatTokens::ChatTokens(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer), tokens_(tokenizer.special_tokens()) {
  // White space is ordinary text, in which the tokenizer itself finds such tokens.
  std::erase_if(tokens_,
                [](const SpecialToken& token) { return WithoutLeadingSpace(token.text).empty(); });
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    trie_.Insert(tokens_[i].text, i);
  }
}

ChatTokens::Match ChatTokens::MatchOf(std::string_view text, const SpecialToken& token,
                                      std::size_t begin, std::size_t done) const {
  Match match{&token, begin, begin + token.text.size()};
  if (token.single_word) {
    const bool is_part =
        (begin > 0 && IsWordCharacter(LastCodePoint(text.substr(0, begin)).value)) ||
        (match.end < text.size() && IsWordCharacter(FirstCodePoint(text.substr(match.end)).value));
    if (is_part) {
      return {};
    }
  }
  while (token.takes_space_before && match.begin > done) {
    const CodePoint last = LastCodePoint(text.substr(done, match.begin - done));
    if (!IsWhiteSpace(last.value)) {
      break;
    }
    match.begin -= last.length;
  }
  if (token.takes_space_behind) {
    match.end = text.size() - WithoutLeadingSpace(text.substr(match.end)).size();
  }
  match.begin = std::max(match.begin, done);
  return match.begin < match.end ? match : Match{};
}

ChatTokens::Match ChatTokens::FindNext(const MarkedText& text, std::size_t done,
                                       Place& place) const {
  const std::string_view bytes = text.text();
  auto& [at, end] = place;
  while (at < text.size()) {
    if (at == end) {
      end = text.EndOfRun(at);
    }
    if (text.OriginOf(at) == MarkedText::Origin::kRequest) {
      at = end;
      continue;
    }
    for (; at < end; ++at) {
      const auto found = trie_.LongestPrefix(bytes.substr(at, end - at));
      if (!found) {
        continue;
      }
      const Match match = MatchOf(bytes, tokens_[found->index], at, done);
      at += found->length;
      if (match.token != nullptr) {
        return match;
      }
      break;
    }
  }
  return {};
}

Expected<std::vector<TokenId>, EncodeFault> ChatTokens::Encode(const MarkedText& text,
                                                               const EncodeLimits& limits,
                                                               bool at_start) const {
  const std::string_view bytes = text.text();
  std::vector<TokenId> ids;
  EncodeOptions options{.at_start = at_start, .special_tokens = SpecialTokensInText::kEscape};
  std::size_t done = 0;
  Place place;
  const auto count = [&] { return static_cast<std::int64_t>(ids.size()); };
  while (done < text.size()) {
    const Match match = FindNext(text, done, place);
    const std::size_t end = match.token != nullptr ? match.begin : text.size();
    if (end > done) {
      EncodeLimits of_run = limits.Behind(ids.size());
      of_run.enough_tokens -= limits.enough_tokens == EncodeLimits::kUnlimited ? 0 : count();
      const Expected<EncodedText, EncodeFault> run =
          tokenizer_.EncodeWithin(of_run, bytes.substr(done, end - done), options);
      if (!run) {
        return Unexpected(run.error());
      }
      ids.insert(ids.end(), run->ids.begin(), run->ids.end());
      if (count() >= limits.enough_tokens) {  // The run may have been dropped before its end.
        break;
      }
    }
    done = end;
    if (match.token != nullptr) {
      ids.push_back(match.token->id);
      done = match.end;
      options.at_start = false;
      options.behind_token = true;
    }
    if (count() > limits.max_tokens) {
      return Unexpected(EncodeFault::kTooManyTokens);
    }
  }
  return ids;
}

}  // namespace scorecast::coordinator
