#pragma once

#include <exception>
#include <string>

namespace scorecast::proto {

/// What an exception that ends a command says of it. That is its own text, or a plainer one if the
/// standard library threw it.
std::string FaultText(const std::exception& fault);

}  // namespace scorecast::proto
