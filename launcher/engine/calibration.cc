#include "launcher/engine/calibration.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "coordinator/schedule/pass/pass_calibration.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/status/service_status.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

using coordinator::PassCalibration;

/// Tells all ranks whether another pass follows. `value` is rank 0's.
bool BroadcastMore(const proto::Communicator& group, bool value) {
  std::array<std::byte, 1> more = {std::byte{value}};
  group.Broadcast(more);
  return more[0] != std::byte{0};
}

void Log(const PassCalibration& calibration, double max_pass_seconds, std::int64_t max_rows) {
  const coordinator::PassTimeModel& model = calibration.time_model;
  proto::LogInfo(
      "calibration: {} in {:.2f} s: {}", proto::Count(calibration.passes, "pass", "passes"),
      calibration.seconds,
      coordinator::TextOf({.rates = model.rates(),
                           .bound_seconds = model.BoundedSeconds(max_pass_seconds, max_rows),
                           .error = model.error()}));
}

}  // namespace

coordinator::PassTimeModel Calibrate(Engine& engine, double max_pass_seconds) {
  if (!engine.is_root()) {
    while (BroadcastMore(engine.group(), false) && engine.runner().FollowOne()) {
    }
    return coordinator::PassTimeModel();
  }
  const PassCalibration calibration = coordinator::CalibratePassTime(
      engine.config(), engine.limits(), [&](const proto::ForwardPlan& plan) {
        BroadcastMore(engine.group(), true);
        engine.runner().Run(plan);
      });
  BroadcastMore(engine.group(), false);
  Log(calibration, max_pass_seconds, engine.limits().max_rows);
  return calibration.time_model;
}

}  // namespace scorecast::launcher
