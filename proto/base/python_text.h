#pragma once

#include <string>

namespace scorecast::proto {

/// A number as Python's str and json.dumps write it: the fewest digits that tell it from every
/// other double.
std::string PythonText(double number);

}  // namespace scorecast::proto
