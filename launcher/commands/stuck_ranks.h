#pragma once

#include <chrono>

namespace scorecast::launcher {

/// Ends the process at once, with kExitRanksStuck. The other ranks notice it, and end as well.
[[noreturn]] void EndWithStuckRanks(const char* message);

/// Ends the process if it still runs after `time`, because other ranks do not end. The watchdog no
/// longer looks then.
void LimitTimeOfEnd(std::chrono::duration<double> time);

}  // namespace scorecast::launcher
