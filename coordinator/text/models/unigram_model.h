#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/models/longest_tokens.h"
#include "coordinator/text/models/prefix_tree.h"
#include "coordinator/text/models/token_collector.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// A Unigram model: of all ways to cut a piece of text into tokens, the one with the highest sum of
/// scores. Computes in float64 and in the reference's order, so that the choice between equal sums
/// is the same. Immutable.
class UnigramModel {
 public:
  struct Token {
    std::string text;
    double score = 0;
  };

  struct Data {
    std::vector<Token> tokens;  ///< The index is the id.
    proto::TokenId unknown = 0;
    /// If unknown characters become tokens of their bytes: the token of each byte, −1 for a byte
    /// without one.
    std::optional<std::array<proto::TokenId, 256>> fallback;
  };

  explicit UnigramModel(const Data& data);

  /// Adds the tokens of `piece` (valid UTF-8). Linear in its length.
  void Encode(std::string_view piece, TokenCollector& tokens) const;

  /// A lower bound on the number of tokens of every text that contains `text`.
  std::int64_t LeastTokens(std::string_view text) const;

 private:
  void AddUnknown(std::string_view text, TokenCollector& tokens) const;

  std::vector<double> scores_;
  PrefixTree tree_;
  LongestTokens longest_;
  double unknown_score_ = 0;
  proto::TokenId unknown_;
  std::optional<std::array<proto::TokenId, 256>> fallback_;
};

}  // namespace scorecast::coordinator
