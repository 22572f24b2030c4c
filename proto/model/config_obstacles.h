#pragma once

#include <string>

#include "proto/model/config_fields.h"

namespace scorecast::proto {

/// Supported architectures, as messages list them.
std::string SupportedArchitectures();

/// Refuses, by name, what no family supports: options that change a model's scores, and kinds of
/// models such as mixtures of experts.
void RefuseObstacles(const Fields& fields);

/// Why a model whose architecture has no row in the table is refused.
std::string WhyUnsupported(const Json& architecture);

}  // namespace scorecast::proto
