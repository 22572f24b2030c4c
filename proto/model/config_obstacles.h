#pragma once

#include <string>

#include "proto/model/config_fields.h"
#include "proto/model/families.h"

namespace scorecast::proto {

/// Supported architectures, as messages list them.
std::string SupportedArchitectures();

/// Refuses, by name, what no family supports: options that change a model's scores, and kinds of
/// models such as mixtures of experts.
void RefuseObstacles(const Fields& fields);

/// The same for what models of this family do not support. In encoders, code that comes with the
/// model is among it.
void RefuseObstaclesOf(const Family& family, const Fields& fields);

/// Why a model whose architecture has no row in the table is refused.
std::string WhyUnsupported(const Fields& fields, const Json& architecture);

}  // namespace scorecast::proto
