#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/reference/checkpoint_reader.h"

namespace scorecast::reference {

/// Takes a tensor of this shape. It is removed from the map, so that unused ones are noticed.
inline std::vector<double> Take(std::map<std::string, Tensor>& tensors, const std::string& name,
                                const std::vector<std::int64_t>& shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.shape != shape) {
    throw std::runtime_error("tensor " + name + " is missing or misshapen");
  }
  std::vector<double> values = std::move(found->second.values);
  tensors.erase(found);
  return values;
}

}  // namespace scorecast::reference
