#pragma once

#include <chrono>

namespace scorecast::launcher {

/// Ends the process at once, with kExitRanksStuck. The other ranks notice it, and end as well.
[[noreturn]] void EndWithStuckRanks(const char* message);

/// Ends the process if it is still running after `time`, because other ranks have not ended. At
/// that time the watchdog no longer looks.
void LimitTimeOfEnd(std::chrono::duration<double> time);

}  // namespace scorecast::launcher
