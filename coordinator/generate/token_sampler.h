#pragma once

#include <cstdint>
#include <optional>

#include "coordinator/generate/completion_options.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// Chooses tokens from what the ranks return of a row: its best, or what they drew. What it chooses
/// depends on the row, the seed and the step only: the noise of a token is GumbelNoise(seed, step,
/// id), whoever adds it.
class TokenSampler {
 public:
  TokenSampler(const SamplingOptions& options, std::int64_t vocab_size);

  /// What to read of the row at `step`, the number of tokens chosen before.
  proto::RowRead Wanted(std::uint32_t step) const;

  /// The token of the row at `step`, read as Wanted said; nothing where more of the row is needed,
  /// which Wanted says from then on. The row is finite.
  std::optional<TokenId> Take(const proto::RowLogits& row, std::uint32_t step);

 private:
  /// What the candidates of a row are.
  enum class Candidates {
    kBest,     ///< The best token alone.
    kAll,      ///< All tokens: the ranks draw.
    kTop,      ///< The `top_k` best.
    kNucleus,  ///< Of all tokens those that `top_p` leaves.
  };

  Candidates candidates_;
  float temperature_ = 1;
  double top_p_;
  std::uint64_t seed_;
  std::int64_t vocab_size_;
  std::int64_t read_ = 0;  ///< How many best tokens are read.
};

}  // namespace scorecast::coordinator
