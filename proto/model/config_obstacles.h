#pragma once

#include <string>

#include "proto/model/config_fields.h"

namespace scorecast::proto {

/// Supported architectures, as messages list them.
std::string SupportedArchitectures();

/// Refuses, by name, what no family supports: options that change the scores of a model, and kinds
/// of models such as mixtures of experts.
void RefuseObstacles(const Fields& fields);

/// Why a model of an architecture without a row in the table is refused.
std::string WhyUnsupported(const Json& architecture);

}  // namespace scorecast::proto
