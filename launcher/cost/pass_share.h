#pragma once

#include <cstdint>

#include "coordinator/schedule/pass/pass_work.h"
#include "launcher/cost/layout.h"
#include "proto/model/model_config.h"
#include "shard/model/memory_estimate.h"

namespace scorecast::launcher {

/// Rows of a product that have a rate of their own, because they cost more each than the rows that
/// follow them.
inline constexpr std::int64_t kFewRows = 32;

/// What one rank computes in a pass, in the units that CostRates has seconds for.
struct PassShare {
  // Products with weights.
  double weight_bytes = 0;     ///< Weights that are read from memory, once in a pass.
  double few_operations = 0;   ///< Multiplications and additions of up to kFewRows rows.
  double more_operations = 0;  ///< Those of the rows beyond.
  // Attention.
  double key_numbers = 0;    ///< Numbers of the keys that rows attend to, once for each query head.
  double query_numbers = 0;  ///< Numbers of the rows' queries.
  // Everything else.
  double row_numbers = 0;    ///< Numbers of rows that are normalised or rounded.
  double added_numbers = 0;  ///< Numbers of the ranks' summands of own rows.
  double layers = 0;
};

/// Numbers of summands that a rank adds up before it sends the sums to other hosts.
double SentSumNumbers(const proto::ModelConfig& config, const Layout& layout,
                      const coordinator::PassWork& work);

/// The share of `rank` if every row is owned by the rank that RowExchange::Even gives it, a rank's
/// number of own rows is not rounded, and each read is of another row and computes the logits of
/// the whole vocabulary.
PassShare ShareOf(const proto::ModelConfig& config, const shard::HeldWeights& weights,
                  const Layout& layout, int rank, const coordinator::PassWork& work);

}  // namespace scorecast::launcher
