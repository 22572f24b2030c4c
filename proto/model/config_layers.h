#pragma once

#include <cstdint>
#include <vector>

#include "proto/model/config_fields.h"
#include "proto/model/families.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// The options of each of `num_layers` layers: those of the family, and the sliding window that
/// `sliding_window`, `layer_types` and the family's rule give it.
std::vector<LayerConfig> ReadLayers(const Fields& fields, const Family& family,
                                    std::int64_t num_layers);

}  // namespace scorecast::proto
