#pragma once

#include <cstdint>
#include <vector>

#include "proto/model/config_fields.h"
#include "proto/model/families.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// The options of each of `num_layers` layers: the family's options, and the sliding window that
/// follows from `sliding_window`, `layer_types` and the family's rule.
std::vector<LayerConfig> ReadLayers(const Fields& fields, const Family& family,
                                    std::int64_t num_layers, bool bidirectional);

}  // namespace scorecast::proto
