#pragma once

#include <optional>
#include <span>

#include "launcher/cost/cost_calibration.h"

namespace scorecast::launcher {

/// Seconds that one of each unit of PassShare and Wire takes on one core, while the other cores of
/// the calibration's hosts compute, too.
struct CostRates {
  // Products.
  double weight_byte = 0;
  double few_operation = 0;
  double more_operation = 0;
  // Attention.
  double key_number = 0;
  double query_number = 0;
  // Everything else in a pass.
  double row_number = 0;
  double added_number = 0;
  double layer = 0;
  // Beside the ranks' phases: the plan goes to the ranks, and logits come back.
  double pass = 0;        ///< A pass of one rank.
  double ranks_pass = 0;  ///< What a pass of several ranks takes beyond that.
  double row = 0;
  /// Seconds of an exchange of the ranks of one host; nullopt if no calibration has such ranks.
  std::optional<double> exchange;
  /// Seconds of a message between hosts; nullopt if no calibration has several hosts.
  std::optional<double> message;
  /// Seconds for each byte that a rank sends to other hosts, if the network does not take longer.
  double sent_byte = 0;
};

/// The rates with which all passes of the calibrations take as long as measured, as far as
/// possible: least squares of each phase, relative to the pass. A calibration of one rank says
/// nothing about summands: their rate is then that of rows.
CostRates FitCostRates(std::span<const CostCalibration> calibrations);

}  // namespace scorecast::launcher
