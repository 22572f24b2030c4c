#include "coordinator/text/models/word_piece_model.h"

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

/// Number of bytes looked up between two looks at `stop`.
constexpr std::size_t kBytesPerLook = 4096;

std::vector<PrefixTree::Entry> Continuations(const WordPieceModel::Data& data) {
  std::vector<PrefixTree::Entry> entries;
  for (const auto& [text, id] : data.tokens) {
    if (text.starts_with(data.continuing_prefix)) {
      entries.emplace_back(text.substr(data.continuing_prefix.size()), id);
    }
  }
  return entries;
}

}  // namespace

WordPieceModel::WordPieceModel(const Data& data)
    : beginnings_(data.tokens),
      continuations_(Continuations(data)),
      unknown_(data.unknown),
      max_word_characters_(data.max_word_characters) {}

void WordPieceModel::Encode(std::string_view piece, TokenCollector& tokens) const {
  if (IsTooLong(piece)) {
    tokens.Add(unknown_);
    return;
  }
  std::vector<TokenId> found;
  std::size_t next_look = kBytesPerLook;
  for (std::size_t at = 0; at < piece.size();) {
    std::size_t longest = 0;
    TokenId token = unknown_;
    const PrefixTree& tree = at == 0 ? beginnings_ : continuations_;
    tree.ForEachPrefix(piece.substr(at), [&](std::size_t length, TokenId id) {
      longest = length;
      token = id;
    });
    if (longest == 0) {
      found = {unknown_};
      break;
    }
    found.push_back(token);
    at += longest;
    if (at >= next_look) {
      tokens.Poll();
      next_look = at + kBytesPerLook;
    }
  }
  tokens.Append(std::move(found));
}

bool WordPieceModel::IsTooLong(std::string_view word) const {
  std::size_t characters = 0;
  while (!word.empty()) {
    if (characters == max_word_characters_) {
      return true;
    }
    ++characters;
    word.remove_prefix(FirstCodePoint(word).length);
  }
  return false;
}

}  // namespace scorecast::coordinator
