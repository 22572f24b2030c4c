#pragma once

#include "proto/model/config_fields.h"
#include "proto/model/families.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// Reads `rope_theta`, `rope_scaling`, `rope_local_base_freq` and `rope_parameters` into the tables
/// of `config`, which must already have all sizes. The first table is for layers without a window;
/// the second, if the family has one, is for layers with a window.
void ReadRope(const Fields& fields, const Family& family, ModelConfig& config);

}  // namespace scorecast::proto
