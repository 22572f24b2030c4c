#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coordinator/request/chunk_options.h"
#include "coordinator/request/request_context.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// Counts the tokens of a chunked request while its parts are tokenized, one after the other. How
/// many are left is counted generously (CountedTokens), so that a request that is refused because
/// of it would be refused in any case.
class TokenSum {
 public:
  /// `chunk_groups` are the request's, which have all chunks if there are any.
  TokenSum(ChunkPositionStrategy strategy, std::span<const std::int64_t> chunk_groups,
           const RequestContext& context);

  void AddPrefix(std::size_t tokens);
  void AddChunk(std::size_t tokens);
  void AddQuestion(std::size_t tokens);

  /// Tokens that the next chunk, or the next question, may have at the model's last position.
  std::int64_t positions_left_of_chunk() const { return positions_left_ - group_end_; }
  std::int64_t positions_left_of_question() const { return positions_left_ - last_group_end_; }
  /// Tokens whose K/V may still be needed by later passes.
  std::int64_t capacity_left() const { return capacity_left_; }

  /// With more tokens of prefix and chunks (and of questions that get completions), a request fits
  /// neither one pass nor the K/V that is kept.
  static std::int64_t Capacity(const proto::PlanLimits& limits);

 private:
  const ChunkPositionStrategy strategy_;
  const std::span<const std::int64_t> chunk_groups_;
  std::int64_t positions_left_;  ///< Behind the prefix.
  std::int64_t capacity_left_;
  std::size_t group_ = 0;             ///< That of the next chunk.
  std::int64_t chunks_of_group_ = 0;  ///< Those that are counted.
  std::int64_t group_end_ = 0;        ///< Its position behind the prefix, up to now.
  std::int64_t last_group_end_ = 0;   ///< The largest of all groups.
};

}  // namespace scorecast::coordinator
