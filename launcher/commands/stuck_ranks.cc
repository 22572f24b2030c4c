#include "launcher/commands/stuck_ranks.h"

#include <cstdlib>
#include <thread>

#include <spdlog/spdlog.h>

#include "launcher/commands/commands.h"

namespace scorecast::launcher {

void EndWithStuckRanks(const char* message) {
  spdlog::error("{}", message);
  std::quick_exit(kExitRanksStuck);
}

void LimitTimeOfEnd(std::chrono::duration<double> time) {
  std::thread([time] {
    std::this_thread::sleep_for(time);
    EndWithStuckRanks("the other ranks do not end: leaving them");
  }).detach();
}

}  // namespace scorecast::launcher
