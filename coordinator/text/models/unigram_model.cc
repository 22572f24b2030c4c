#include "coordinator/text/models/unigram_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

/// How far the score of an unknown character is below the lowest score of a token.
constexpr double kUnknownPenalty = 10.0;

/// Number of bytes looked up between two looks at `stop`.
constexpr std::size_t kBytesPerPoll = 4096;

/// The best way to cut the text up to a place: its last token and its sum of scores.
struct Best {
  static constexpr std::size_t kNone = SIZE_MAX;

  double sum = 0;
  std::size_t begin = kNone;  ///< The start of the last token; kNone if no token ends here.
  TokenId id = 0;

  void Consider(double other_sum, std::size_t other_begin, TokenId other_id) {
    if (begin == kNone || other_sum > sum) {
      *this = {other_sum, other_begin, other_id};
    }
  }
};

PrefixTree TreeOf(const std::vector<UnigramModel::Token>& tokens) {
  std::vector<PrefixTree::Entry> entries;
  entries.reserve(tokens.size());
  for (const UnigramModel::Token& token : tokens) {
    entries.emplace_back(token.text, static_cast<TokenId>(entries.size()));
  }
  return PrefixTree(std::move(entries));
}

}  // namespace

UnigramModel::UnigramModel(const Data& data)
    : tree_(TreeOf(data.tokens)), unknown_(data.unknown), fallback_(data.fallback) {
  double lowest = std::numeric_limits<double>::infinity();
  scores_.reserve(data.tokens.size());
  for (const Token& token : data.tokens) {
    scores_.push_back(token.score);
    lowest = std::min(lowest, token.score);
    longest_.AddCharacters(token.text);
  }
  unknown_score_ = lowest - kUnknownPenalty;
}

std::int64_t UnigramModel::LeastTokens(std::string_view text) const {
  const bool has_bytes =
      fallback_ && std::find(fallback_->begin(), fallback_->end(), TokenId{-1}) == fallback_->end();
  LongestTokens::Sum sum;
  while (!text.empty()) {
    const CodePoint character = FirstCodePoint(text);
    if (tree_.Find(text.substr(0, character.length))) {
      sum.Add(1, longest_.With(character.value));
    } else if (has_bytes) {
      // Unknown neighbours become the tokens of their bytes, or one token if their whole text is a
      // token.
      sum.Add(1, std::max(std::uint64_t{1}, longest_.longest()));
    }
    text.remove_prefix(character.length);
  }
  return sum.tokens();
}

void UnigramModel::Encode(std::string_view piece, TokenCollector& tokens) const {
  // A byte never becomes more than one token. So only a longer piece can have too many tokens.
  if (static_cast<std::int64_t>(piece.size()) > tokens.left()) {
    tokens.ExpectAtLeast(LeastTokens(piece));
  }
  std::size_t next_poll = kBytesPerPoll;
  std::vector<Best> best(piece.size() + 1);  // The index is the place up to which the text is cut.
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t character = FirstCodePoint(piece.substr(at)).length;
    const double sum = best[at].sum;
    bool has_token = false;  // Whether the character has a token of its own.
    tree_.ForEachPrefix(piece.substr(at), [&](std::size_t length, TokenId id) {
      best[at + length].Consider(scores_[id] + sum, at, id);
      has_token = has_token || length == character;
    });
    if (!has_token) {
      best[at + character].Consider(unknown_score_ + sum, at, unknown_);
    }
    at += character;
    if (at >= next_poll) {
      tokens.Poll();
      next_poll = at + kBytesPerPoll;
    }
  }

  std::vector<std::size_t> ends;  // The ends of the best way's tokens, the last token first.
  for (std::size_t end = piece.size(); end > 0; end = best[end].begin) {
    ends.push_back(end);
  }
  std::size_t begin = 0;  // Begin of the next token, or of the first of several unknown ones.
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const bool is_unknown = best[*end].id == unknown_;
    const bool goes_on = is_unknown && end + 1 != ends.rend() && best[end[1]].id == unknown_;
    if (goes_on) {
      continue;
    }
    if (is_unknown) {
      AddUnknown(piece.substr(begin, *end - begin), tokens);
    } else {
      tokens.Add(best[*end].id);
    }
    begin = *end;
  }
}

void UnigramModel::AddUnknown(std::string_view text, TokenCollector& tokens) const {
  if (const std::optional<TokenId> whole = tree_.Find(text)) {
    tokens.Add(*whole);
    return;
  }
  const auto token_of = [&](char byte) { return (*fallback_)[static_cast<std::uint8_t>(byte)]; };
  if (fallback_ &&
      std::all_of(text.begin(), text.end(), [&](char byte) { return token_of(byte) >= 0; })) {
    for (const char byte : text) {
      tokens.Add(token_of(byte));
    }
    return;
  }
  tokens.Add(unknown_);
}

}  // namespace scorecast::coordinator
