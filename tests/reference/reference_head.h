#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// The oracle of heads: what becomes of the final rows [rows][hidden_size] of a text, in plain
/// loops over doubles. `tensor` returns the values of one of the head's tensors by its name in the
/// step.
std::vector<double> ApplyReadHead(
    const proto::ReadHead& head, const std::vector<std::vector<double>>& rows,
    const std::function<std::vector<double>(const std::string& name)>& tensor);

}  // namespace scorecast::reference
