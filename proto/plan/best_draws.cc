#include "proto/plan/best_draws.h"

#include <algorithm>
#include <cmath>

namespace scorecast::proto {

bool IsDrawnBefore(const DrawnToken& a, const DrawnToken& b) {
  if (std::isnan(a.sum) || std::isnan(b.sum)) {
    return std::isnan(a.sum) && (!std::isnan(b.sum) || a.id < b.id);
  }
  return a.sum != b.sum ? a.sum > b.sum : a.id < b.id;
}

void BestDraws::Offer(const DrawnToken& token) {
  std::size_t at = size_;
  while (at > 0 && IsDrawnBefore(token, tokens_[at - 1])) {
    --at;
  }
  if (at == count_) {
    return;
  }
  size_ = std::min(size_ + 1, count_);
  std::shift_right(tokens_.begin() + static_cast<std::ptrdiff_t>(at),
                   tokens_.begin() + static_cast<std::ptrdiff_t>(size_), 1);
  tokens_[at] = token;
}

}  // namespace scorecast::proto
