#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// Returns the values of the tensor that a head's step calls `name`.
using StepTensorValues =
    std::function<std::vector<double>(const proto::HeadStep& step, const std::string& name)>;

/// The oracle of heads: what becomes of the final rows [rows][hidden_size] of a text, in plain
/// loops over doubles.
std::vector<double> ApplyReadHead(const proto::ReadHead& head,
                                  const std::vector<std::vector<double>>& rows,
                                  const StepTensorValues& tensor);

}  // namespace scorecast::reference
