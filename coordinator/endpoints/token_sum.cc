#include "coordinator/endpoints/token_sum.h"

#include <algorithm>

#include "coordinator/request/request_checks.h"

namespace scorecast::coordinator {

TokenSum::TokenSum(ChunkPositionStrategy strategy, std::span<const std::int64_t> chunk_groups,
                   const RequestContext& context)
    : strategy_(strategy),
      chunk_groups_(chunk_groups),
      positions_left_(CountedTokens(context.config.max_position_embeddings)),
      capacity_left_(CountedTokens(Capacity(context.limits))) {}

std::int64_t TokenSum::Capacity(const proto::PlanLimits& limits) {
  return std::max<std::int64_t>(limits.max_rows, limits.kept_kv_rows);
}

void TokenSum::AddPrefix(std::size_t tokens) {
  positions_left_ -= static_cast<std::int64_t>(tokens);
  capacity_left_ -= static_cast<std::int64_t>(tokens);
}

void TokenSum::AddChunk(std::size_t tokens) {
  capacity_left_ -= static_cast<std::int64_t>(tokens);
  group_end_ += static_cast<std::int64_t>(tokens);
  last_group_end_ = std::max(last_group_end_, group_end_);
  ++chunks_of_group_;
  const std::int64_t chunks =
      group_ < chunk_groups_.size() ? chunk_groups_[group_] : std::int64_t{1};
  if (chunks_of_group_ == chunks) {
    ++group_;
    chunks_of_group_ = 0;
    if (strategy_ != ChunkPositionStrategy::kOffset) {
      group_end_ = 0;
    }
  }
}

void TokenSum::AddQuestion(std::size_t tokens) {
  capacity_left_ -= static_cast<std::int64_t>(tokens);
}

}  // namespace scorecast::coordinator
