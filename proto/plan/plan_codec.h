#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "proto/plan/forward_plan.h"

namespace scorecast::proto {

/// Encodes a plan as little-endian bytes; only for machines of that byte order.
std::vector<std::byte> EncodePlan(const ForwardPlan& plan);

/// Inverse of EncodePlan. The bytes only ever come from rank 0, so a malformed plan is a broken
/// invariant.
ForwardPlan DecodePlan(std::span<const std::byte> bytes);

}  // namespace scorecast::proto
