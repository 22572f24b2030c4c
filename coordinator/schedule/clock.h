#pragma once

#include <chrono>

namespace scorecast::coordinator {

/// The clock of arrivals, deadlines and passes.
using Clock = std::chrono::steady_clock;

}  // namespace scorecast::coordinator
