#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/schedule/pass/pass_work.h"
#include "launcher/cost/layout.h"
#include "proto/model/model_config.h"
#include "shard/model/memory_estimate.h"

namespace scorecast::launcher {

/// Seconds of one pass on rank 0: the median of several.
struct MeasuredPass {
  coordinator::PassWork work;  ///< Only rows, keys and reads.
  double seconds = 0;          ///< The whole pass.
  // The phases of the thread that runs it (shard::Phase).
  double products = 0;
  double attention = 0;
  double other = 0;
  double communication = 0;
};

/// What `serve --write-calibration` measures on one layout, from which CostRates are fitted.
struct CostCalibration {
  std::string version;  ///< Of scorecast.
  std::string kernels;  ///< Kernel set, instructions and libraries.
  std::string layer_backend;
  std::string lm_head_backend;
  shard::HeldWeights weights;
  Layout layout;
  proto::ModelConfig shape;  ///< Only the sizes that ShareOf and WireOf use.
  std::vector<MeasuredPass> passes;

  std::string ToJson() const;
  /// Throws StartupError, one line that begins with `origin`, if the text is no calibration.
  static CostCalibration FromJson(std::string_view text, const std::string& origin);
};

/// Throws StartupError if the file cannot be read or is no calibration.
CostCalibration ReadCostCalibration(const std::filesystem::path& path);

}  // namespace scorecast::launcher
