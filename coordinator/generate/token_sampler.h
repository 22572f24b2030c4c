#pragma once

#include <cstdint>
#include <optional>

#include "coordinator/generate/completion_options.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// Chooses a token from what the ranks return for a row: the row's best tokens, or the token that
/// the ranks drew. The choice depends only on the row, the seed and the step. The noise of a token
/// is GumbelNoise(seed, step, id), whether the ranks or this class add it.
class TokenSampler {
 public:
  TokenSampler(const SamplingOptions& options, std::int64_t vocab_size);

  /// What must be read of the row at `step`. `step` is the number of tokens chosen before.
  proto::RowRead Wanted(std::uint32_t step) const;

  /// Chooses the token for the row at `step`, from which Wanted was read. Returns nothing if more
  /// of the row must be read; Wanted then says what. All values of the row must be finite.
  std::optional<TokenId> Take(const proto::RowLogits& row, std::uint32_t step);

 private:
  /// Which tokens of a row may be chosen.
  enum class Candidates {
    kBest,     ///< The best token.
    kAll,      ///< All tokens. The ranks draw one.
    kTop,      ///< The `top_k` best.
    kNucleus,  ///< The tokens of the whole vocabulary that `top_p` keeps.
  };

  Candidates candidates_;
  float temperature_ = 1;
  double top_p_;
  std::uint64_t seed_ = 0;
  std::int64_t vocab_size_;
  std::int64_t read_ = 0;  ///< Number of best tokens to read.
};

}  // namespace scorecast::coordinator
