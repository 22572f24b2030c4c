#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::proto {

/// A token that may be drawn.
struct DrawnToken {
  TokenId id = -1;
  double logit = 0;  ///< A float, unless the token was adjusted.
  double sum = -std::numeric_limits<double>::infinity();  ///< The logit plus noise.

  bool operator==(const DrawnToken&) const = default;
};

/// Whether draw `a` wins over draw `b`: the larger sum wins; of equal sums, the smaller id wins.
/// NaN wins over every number, so that it is noticed.
bool IsDrawnBefore(const DrawnToken& a, const DrawnToken& b);

/// The tokens with the largest sums of those that were offered, the best first.
class BestDraws {
 public:
  /// Keeps up to `count` tokens, 1 … Draw::kMostTokens.
  explicit BestDraws(std::int32_t count) : count_(static_cast<std::size_t>(count)) {}

  void Offer(const DrawnToken& token);
  std::span<const DrawnToken> tokens() const { return std::span(tokens_).first(size_); }
  bool is_full() const { return size_ == count_; }
  /// A token whose sum is below this is not kept.
  double least() const {
    return is_full() ? tokens_[size_ - 1].sum : -std::numeric_limits<double>::infinity();
  }

 private:
  std::size_t count_;
  std::size_t size_ = 0;
  std::array<DrawnToken, Draw::kMostTokens> tokens_;
};

}  // namespace scorecast::proto
