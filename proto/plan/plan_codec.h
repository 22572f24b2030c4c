#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "proto/plan/forward_plan.h"

namespace scorecast::proto {

/// The plan as bytes, for machines of one byte order (little-endian).
std::vector<std::byte> EncodePlan(const ForwardPlan& plan);

/// The inverse. Bytes come from rank 0 only: a malformed plan is a broken invariant.
ForwardPlan DecodePlan(std::span<const std::byte> bytes);

}  // namespace scorecast::proto
