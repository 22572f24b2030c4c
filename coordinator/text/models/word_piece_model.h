#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/models/prefix_tree.h"
#include "coordinator/text/models/token_collector.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// A WordPiece model: takes the longest token with which a word begins, then the longest
/// continuation, and so on. If a part of the word has no token, the whole word is unknown.
/// Immutable.
class WordPieceModel {
 public:
  struct Data {
    std::vector<PrefixTree::Entry> tokens;  ///< Each text once.
    /// The spelling of a token within a word begins with this ("##").
    std::string continuing_prefix;
    proto::TokenId unknown = 0;
    std::size_t max_word_characters = 100;  ///< A longer word is unknown.
  };

  explicit WordPieceModel(const Data& data);

  /// Adds the tokens of `piece` (valid UTF-8). Linear in its length.
  void Encode(std::string_view piece, TokenCollector& tokens) const;

  /// A lower bound on the number of tokens of every text that contains `text`. It is 0, because any
  /// text may be a part of one unknown word.
  std::int64_t LeastTokens(std::string_view /*text*/) const { return 0; }

 private:
  bool IsTooLong(std::string_view word) const;

  PrefixTree beginnings_;     ///< All tokens, as they are spelled.
  PrefixTree continuations_;  ///< Tokens within words, without the prefix.
  proto::TokenId unknown_;
  std::size_t max_word_characters_;
};

}  // namespace scorecast::coordinator
