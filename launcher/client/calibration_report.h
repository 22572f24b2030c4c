#pragma once

#include <string>
#include <vector>

#include "launcher/calibrate/calibration.h"

namespace scorecast::launcher {

/// What a calibration found, for people: a table of the groups that have questions, why some of
/// them keep their temperatures, which of them the new ones make worse, and reliability plots
/// before and after. `present` has the temperatures before. Lines are not cut: they have up to 80
/// columns.
std::vector<std::string> CalibrationReport(const CalibrationResult& result,
                                           const Temperatures& present);

}  // namespace scorecast::launcher
