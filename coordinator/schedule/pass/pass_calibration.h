#pragma once

#include <functional>

#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/pass/pass_time_model.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// What a calibration has measured.
struct PassCalibration {
  PassTimeModel time_model;
  int passes = 0;      ///< Computed passes.
  double seconds = 0;  ///< Their time.
};

/// Measures passes of up to 512 rows of random tokens: of one sequence, of short ones, and a few
/// rows of which much is read. Their K/V is pass-local. The sizes rise until the next pass is
/// predicted to end later than a second after the begin; the first pass is always computed.
/// `compute` computes a plan and returns when that is done.
PassCalibration CalibratePassTime(
    const proto::ModelConfig& config, const proto::PlanLimits& limits,
    const std::function<void(proto::ForwardPlan)>& compute,
    const std::function<Clock::time_point()>& now = [] { return Clock::now(); });

}  // namespace scorecast::coordinator
