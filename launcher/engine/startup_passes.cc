#include "launcher/engine/startup_passes.h"

#include <array>
#include <cstddef>

namespace scorecast::launcher {
namespace {

/// Tells all ranks whether another pass follows. `value` is rank 0's.
bool BroadcastMore(const proto::Communicator& group, bool value) {
  std::array<std::byte, 1> more = {std::byte{value}};
  group.Broadcast(more);
  return more[0] != std::byte{0};
}

}  // namespace

void RunStartupPasses(Engine& engine, const std::function<void(const ComputePlan&)>& passes) {
  if (!engine.is_root()) {
    while (BroadcastMore(engine.group(), false) && engine.runner().FollowOne()) {
    }
    return;
  }
  passes([&](const proto::ForwardPlan& plan) {
    BroadcastMore(engine.group(), true);
    return engine.runner().Run(plan);
  });
  BroadcastMore(engine.group(), false);
}

}  // namespace scorecast::launcher
