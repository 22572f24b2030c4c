#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/models/prefix_tree.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// A Unigram model: of all ways to cut a piece of text into tokens, the one with the highest sum of
/// scores. Computes in float64 and in the reference's order, so that equal sums are decided alike.
/// Immutable.
class UnigramModel {
 public:
  struct Token {
    std::string text;
    double score = 0;
  };

  struct Data {
    std::vector<Token> tokens;  ///< By id.
    proto::TokenId unknown = 0;
    /// The tokens of single bytes (−1 for a byte without one), if bytes stand in for what is
    /// unknown.
    std::optional<std::array<proto::TokenId, 256>> fallback;
  };

  explicit UnigramModel(const Data& data);

  /// Appends the tokens of `piece` (valid UTF-8). Linear in its length.
  void Encode(std::string_view piece, std::vector<proto::TokenId>& ids) const;

 private:
  void AppendUnknown(std::string_view text, std::vector<proto::TokenId>& ids) const;

  std::vector<double> scores_;
  PrefixTree tree_;
  double unknown_score_ = 0;
  proto::TokenId unknown_;
  std::optional<std::array<proto::TokenId, 256>> fallback_;
};

}  // namespace scorecast::coordinator
