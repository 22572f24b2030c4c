#include "launcher/engine/calibration.h"

#include <cstdint>

#include "coordinator/schedule/pass/pass_calibration.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/status/service_status.h"
#include "launcher/engine/startup_passes.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

using coordinator::PassCalibration;

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
  coordinator::PassTimeModel time_model;
  RunStartupPasses(engine, [&](const ComputePlan& compute) {
    const PassCalibration calibration =
        coordinator::CalibratePassTime(engine.config(), engine.limits(), compute);
    Log(calibration, max_pass_seconds, engine.limits().max_rows);
    time_model = calibration.time_model;
  });
  return time_model;
}

}  // namespace scorecast::launcher
