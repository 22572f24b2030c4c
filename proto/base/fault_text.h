#pragma once

#include <exception>
#include <string>

namespace scorecast::proto {

/// What to print about an exception that ends a command: the exception's own text, or plainer words
/// if the standard library threw it.
std::string FaultText(const std::exception& fault);

}  // namespace scorecast::proto
