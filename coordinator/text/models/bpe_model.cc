#include "coordinator/text/models/bpe_model.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "coordinator/text/unicode/byte_alphabet.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;
using Index = std::uint32_t;

constexpr Index kNone = UINT32_MAX;
constexpr TokenId kMergedAway = -1;
/// Longer pieces are cut, so that 32-bit indices suffice. No request is that long.
constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 30;
/// Longer pieces are merged part by part, which takes less memory.
constexpr std::size_t kPartBytes = 4096;
/// Number of steps between two looks at `stop`.
constexpr std::size_t kStepsPerPoll = 4096;

/// A token of the piece, in a doubly linked list over an array.
struct Symbol {
  TokenId id = kMergedAway;
  Index previous = kNone;
  Index next = kNone;
};

/// A merge of `left` and its right neighbour that was possible when it was recorded.
struct Candidate {
  std::uint32_t rank = 0;
  Index left = 0;
  TokenId merged = 0;
};

struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }
};

/// A piece that is being merged. Candidates wait in a heap. A candidate is stale if one of its two
/// tokens has since been merged with another token. The merge found at its place then differs, and
/// the candidate is dropped when it is popped.
class Merging {
 public:
  Merging(const MergeTable& merges, std::vector<Symbol>& symbols, std::vector<Candidate>& heap,
          const TokenCollector& tokens)
      : merges_(merges), symbols_(symbols), heap_(heap), tokens_(tokens) {}

  void Run() {
    heap_.clear();
    for (Index i = 0; i + 1 < symbols_.size(); ++i) {
      CountStep();
      if (const std::optional<Candidate> candidate = At(i)) {
        heap_.push_back(*candidate);
      }
    }
    std::make_heap(heap_.begin(), heap_.end(), Later{});
    while (!heap_.empty()) {
      CountStep();
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      const Candidate candidate = heap_.back();
      heap_.pop_back();
      const std::optional<Candidate> now = At(candidate.left);
      if (now && now->merged == candidate.merged) {
        Apply(candidate);
      }
    }
  }

 private:
  void CountStep() {
    if (++steps_ % kStepsPerPoll == 0) {
      tokens_.Poll();
    }
  }

  std::optional<Candidate> At(Index left) const {
    const Symbol& symbol = symbols_[left];
    if (symbol.id == kMergedAway || symbol.next == kNone) {
      return std::nullopt;
    }
    const Merge* merge = merges_.Find(symbol.id, symbols_[symbol.next].id);
    if (merge == nullptr) {
      return std::nullopt;
    }
    return Candidate{merge->rank, left, merge->merged};
  }

  void Apply(const Candidate& candidate) {
    Symbol& symbol = symbols_[candidate.left];
    Symbol& right = symbols_[symbol.next];
    symbol.id = candidate.merged;
    symbol.next = right.next;
    right.id = kMergedAway;
    if (symbol.next != kNone) {
      symbols_[symbol.next].previous = candidate.left;
    }
    if (symbol.previous != kNone) {
      Push(symbol.previous);
    }
    Push(candidate.left);
  }

  void Push(Index left) {
    if (const std::optional<Candidate> candidate = At(left)) {
      heap_.push_back(*candidate);
      std::push_heap(heap_.begin(), heap_.end(), Later{});
    }
  }

  const MergeTable& merges_;
  std::vector<Symbol>& symbols_;
  std::vector<Candidate>& heap_;
  const TokenCollector& tokens_;
  std::size_t steps_ = 0;
};

/// The lists of a Merging. They are reused from piece to piece, because there are many short
/// pieces, but are freed if they grew too large.
class MergingSpace {
 public:
  MergingSpace() = default;
  MergingSpace(const MergingSpace&) = delete;
  MergingSpace& operator=(const MergingSpace&) = delete;
  ~MergingSpace() {
    if (symbols.capacity() > kKept) {
      symbols = {};
      heap = {};
    }
  }

  std::vector<Symbol>& symbols = Kept<Symbol>();
  std::vector<Candidate>& heap = Kept<Candidate>();

 private:
  static constexpr std::size_t kKept = 2 * kPartBytes;

  template <typename T>
  static std::vector<T>& Kept() {
    thread_local std::vector<T> list;
    return list;
  }
};

bool HasAll(const BpeModel::ByteTokens& tokens, std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [&](char byte) { return tokens[static_cast<std::uint8_t>(byte)] >= 0; });
}

}  // namespace

/// Collects the tokens of a piece's characters, with which merging begins.
class BpeModel::Beginning {
 public:
  Beginning(const Data& data, std::vector<Symbol>& symbols) : data_(data), symbols_(symbols) {
    symbols_.clear();
  }

  void Add(TokenId id) {
    AddUnknowns();
    Append(id);
  }

  /// Adds a character without a token; `spelling` is its UTF-8.
  void AddMissing(std::string_view spelling) {
    if (data_.fallback && HasAll(*data_.fallback, spelling)) {
      // As in the reference, an unknown token that waits is added only after these tokens.
      for (const char byte : spelling) {
        Append((*data_.fallback)[static_cast<std::uint8_t>(byte)]);
      }
    } else if (data_.unknown) {
      if (!data_.fuse_unknown) {
        AddUnknowns();
      }
      unknown_waits_ = true;
    }
  }

  /// Adds the unknown token if one is waiting.
  void AddUnknowns() {
    if (unknown_waits_) {
      Append(*data_.unknown);
      unknown_waits_ = false;
    }
  }

 private:
  void Append(TokenId id) {
    const auto index = static_cast<Index>(symbols_.size());
    if (index > 0) {
      symbols_.back().next = index;
    }
    symbols_.push_back({.id = id, .previous = index > 0 ? index - 1 : kNone});
  }

  const Data& data_;
  std::vector<Symbol>& symbols_;
  bool unknown_waits_ = false;
};

void BpeModel::Encode(std::string_view piece, TokenCollector& tokens) const {
  if (!data_.whole_pieces.empty()) {
    const auto whole = data_.whole_pieces.find(piece);
    if (whole != data_.whole_pieces.end()) {
      tokens.Add(whole->second);
      return;
    }
  }
  // A symbol never becomes more than one token, and neither does a byte. So only a longer piece can
  // have too many tokens.
  if (static_cast<std::int64_t>(piece.size()) > tokens.left()) {
    tokens.ExpectAtLeast(LeastTokens(piece));
  }
  while (!piece.empty()) {
    const std::size_t end = EndOfPart(piece);
    EncodeMerged(piece.substr(0, end), end == piece.size(), tokens);
    piece.remove_prefix(end);
  }
}

TokenId BpeModel::FirstToken(std::string_view text, bool is_last) const {
  const WordEnd* const end = is_last && data_.word_end ? &*data_.word_end : nullptr;
  if (!data_.character_tokens) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    return end != nullptr ? end->byte_tokens[byte] : data_.byte_tokens[byte];
  }
  const auto& tokens = end != nullptr ? end->character_tokens : *data_.character_tokens;
  const auto token = tokens.find(FirstCodePoint(text).value);
  return token != tokens.end() ? token->second : -1;
}

bool BpeModel::HasToken(std::string_view character) const {
  return FirstToken(character, false) >= 0 && (!data_.word_end || FirstToken(character, true) >= 0);
}

bool BpeModel::FallsBack(std::string_view character) const {
  return data_.fallback && FirstToken(character, false) < 0 && HasAll(*data_.fallback, character) &&
         (!data_.word_end ||
          (FirstToken(character, true) < 0 && HasAll(*data_.fallback, data_.word_end->suffix)));
}

std::int64_t BpeModel::LeastTokens(std::string_view text) const {
  LongestTokens::Sum sum;
  if (!data_.character_tokens) {
    for (; !text.empty(); text.remove_prefix(1)) {
      if (HasToken(text)) {
        sum.Add(1, data_.longest.With(static_cast<std::uint8_t>(text.front())));
      }
    }
    return sum.tokens();
  }
  // The token of a byte is spelled <0x41>, and may be a part of a longer token.
  constexpr std::uint64_t kByteSpelling = 6;
  const std::uint64_t longest_of_bytes =
      std::max(kByteSpelling, std::uint64_t{data_.longest.With('<')});
  while (!text.empty()) {
    const std::string_view character = text.substr(0, FirstCodePoint(text).length);
    if (HasToken(character)) {
      sum.Add(1, data_.longest.With(FirstCodePoint(text).value));
    } else if (FallsBack(character)) {
      sum.Add(kByteSpelling * character.size(), longest_of_bytes);
    }
    text.remove_prefix(character.size());
  }
  return sum.tokens();
}

std::size_t BpeModel::EndOfPart(std::string_view piece) const {
  for (std::size_t at = kPartBytes; at < piece.size(); ++at) {
    if (IsBorder(piece, at) || at >= kMaxPieceBytes) {
      return at;
    }
  }
  return piece.size();
}

/// Whether no token can contain both what is before a place and what is behind it. The characters
/// on both sides must have tokens, because unknown neighbours may become one token.
bool BpeModel::IsBorder(std::string_view piece, std::size_t at) const {
  if (!data_.character_tokens) {
    const auto before = static_cast<std::uint8_t>(piece[at - 1]);
    const auto after = static_cast<std::uint8_t>(piece[at]);
    return !data_.pairs.Contains(before, after) && data_.byte_tokens[before] >= 0 &&
           HasToken(piece.substr(at));
  }
  if ((static_cast<std::uint8_t>(piece[at]) & 0xC0) == 0x80) {
    return false;
  }
  const char32_t before = LastCodePoint(piece.substr(0, at)).value;
  const char32_t after = FirstCodePoint(piece.substr(at)).value;
  return !data_.pairs.Contains(before, after) && data_.character_tokens->contains(before) &&
         HasToken(piece.substr(at));
}

void BpeModel::GoToLast(OpenPiece& piece) const {
  if (!data_.character_tokens) {
    return;
  }
  // The text behind the cut must not be a whole token, because it would be looked up without
  // merging.
  bool may_be_whole = !data_.whole_pieces.empty();
  const std::string_view text = piece.text.text;
  for (std::size_t at = text.size(); at > 0;) {
    const CodePoint after = LastCodePoint(text.substr(0, at));
    at -= after.length;
    if (at == 0) {
      return;
    }
    const CodePoint before = LastCodePoint(text.substr(0, at));
    if (data_.pairs.Contains(before.value, after.value)) {
      continue;
    }
    if (!may_be_whole && piece.text.places[at] != OpenText::kNoPlace &&
        data_.character_tokens->contains(before.value) && HasToken(text.substr(at))) {
      piece.Cut(at, text.size());
      return;
    }
    may_be_whole = false;
  }
}

void BpeModel::Begin(std::string_view part, bool is_end, Beginning& beginning) const {
  while (!part.empty()) {
    const std::size_t length = data_.character_tokens ? FirstCodePoint(part).length : 1;
    const bool is_last = is_end && length == part.size();
    const TokenId token = FirstToken(part, is_last);
    if (token >= 0) {
      beginning.Add(token);
    } else {
      std::string spelling = data_.character_tokens
                                 ? std::string(part.substr(0, length))
                                 : ByteSpelling(static_cast<std::uint8_t>(part.front()));
      if (is_last && data_.word_end) {
        spelling += data_.word_end->suffix;
      }
      beginning.AddMissing(spelling);
    }
    part.remove_prefix(length);
  }
  beginning.AddUnknowns();
}

void BpeModel::EncodeMerged(std::string_view part, bool is_end, TokenCollector& tokens) const {
  MergingSpace space;
  std::vector<Symbol>& symbols = space.symbols;
  Beginning beginning(data_, symbols);
  Begin(part, is_end, beginning);
  Merging(data_.merges, symbols, space.heap, tokens).Run();
  for (Index i = symbols.empty() ? kNone : 0; i != kNone; i = symbols[i].next) {
    tokens.Add(symbols[i].id);
  }
}

}  // namespace scorecast::coordinator
