#pragma once

#include <nlohmann/json_fwd.hpp>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// Whether the config.json is that of an encoder.
bool IsEncoder(const nlohmann::json& config);

/// Reads the config.json of an encoder: bert, roberta, xlm-roberta, camembert, distilbert,
/// electra or modernbert. Throws std::runtime_error for anything else. An embedder gets the mean of
/// its rows.
proto::ModelConfig ReadEncoderConfig(const nlohmann::json& config);

}  // namespace scorecast::reference
