#pragma once

#include <cstdint>
#include <optional>

#include "proto/plan/forward_plan.h"
#include "shard/attention/row_map.h"

namespace scorecast::shard {

/// Passes of fewer rows are not cut: every part reads all weights, which takes longer than the
/// rows' way between hosts.
inline constexpr std::int64_t kLeastRowsOfCutPass = 128;

/// The number of rows in the first of two parts of a pass that can be computed in turn: the second
/// part's rows see keys of both, and the first part's rows see none of the second. Nothing if the
/// pass has few rows, is a step of a text, or cannot be cut near its middle. `rows` are all rows of
/// the plan. The result depends on the arguments alone, so it is the same on every rank.
std::optional<std::int64_t> CutOfPass(const proto::ForwardPlan& plan, const RowMap& rows,
                                      bool bidirectional);

}  // namespace scorecast::shard
