#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/generate/completion_options.h"
#include "coordinator/generate/nucleus_draw.h"
#include "coordinator/generate/token_adjustments.h"
#include "proto/plan/label_list.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// Chooses the tokens of a completion, step by step, from what the ranks return for a row: the
/// row's best tokens, or the tokens that the ranks drew, and the logits of adjusted tokens, which
/// the ranks leave out of everything else. The choice depends only on the row, the seed, the step
/// and the tokens chosen before. The noise of a token is GumbelNoise(seed, step, id), whether the
/// ranks or this class add it.
class TokenSampler {
 public:
  TokenSampler(const SamplingOptions& options, std::int64_t vocab_size,
               TokenAdjustments adjustments = {});

  /// What must be read of the row at `step`. `step` is the number of tokens chosen before.
  proto::RowRead Wanted(std::uint32_t step) const;
  /// The labels of that read.
  const proto::LabelList& Labels() const { return adjustments_.tokens(); }

  /// Chooses the token for the row at `step`, from which Wanted was read. Returns nothing if more
  /// of the row must be read; Wanted then says what. All values of the row must be finite, and not
  /// all tokens may be forbidden.
  std::optional<TokenId> Take(const proto::RowLogits& row, std::uint32_t step);

 private:
  /// Which tokens of a row may be chosen.
  enum class Candidates {
    kBest,     ///< The best token.
    kAll,      ///< All tokens. The ranks draw one.
    kTop,      ///< The `top_k` best, or those of them that `min_p` and `top_p` keep.
    kNucleus,  ///< The tokens of the whole vocabulary that `min_p` and `top_p` keep.
  };

  std::optional<TokenId> Choose(const proto::RowLogits& row,
                                const std::vector<TokenLogit>& adjusted, std::uint32_t step);
  /// Chooses among all tokens. The ranks have drawn one of those that are not adjusted.
  TokenId DrawOfAll(const proto::RowLogits& row, const std::vector<TokenLogit>& adjusted,
                    std::uint32_t step) const;
  /// Chooses among the best tokens, if they are certainly those that are kept.
  std::optional<TokenId> ChooseOfBest(const proto::RowLogits& row,
                                      const std::vector<TokenLogit>& adjusted, std::uint32_t step);
  /// Whether the row's best tokens and those that are adjusted are all tokens that may be chosen.
  bool HasAll(const proto::RowLogits& row) const;

  Candidates candidates_;
  const SamplingOptions options_;
  float temperature_ = 1;
  std::uint64_t seed_ = 0;
  std::int64_t vocab_size_;
  std::int64_t read_ = 0;               ///< Number of best tokens to read.
  float bin_width_ = 0;                 ///< Of the next row's bins.
  std::optional<NucleusDraw> nucleus_;  ///< While more of a row must be read.
  TokenAdjustments adjustments_;
};

}  // namespace scorecast::coordinator
