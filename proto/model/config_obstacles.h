#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/model/config_fields.h"
#include "proto/model/families.h"
#include "proto/model/ignored_key.h"

namespace scorecast::proto {

// Kinds of models that are not supported, as messages say it.
inline constexpr std::string_view kExpertModels = "mixture-of-experts models are not supported";
inline constexpr std::string_view kMultimodalModels = "multimodal models are not supported";
inline constexpr std::string_view kBidirectionalModels = "bidirectional attention is not supported";
inline constexpr std::string_view kAlibiModels = "ALiBi is not supported";

/// Supported architectures, as messages list them.
std::string SupportedArchitectures();

/// Names the class that `auto_map` has for a model, or for anything if it has none for a model.
std::string WhyCustomCode(const Json& auto_map);

/// Refuses the keys of a config.json that its table refuses: those that no family has, or, with a
/// family, those of this family. Keys in objects are left to whoever reads the object.
void RefuseObstacles(const Fields& fields, const Family* family,
                     std::span<const IgnoredKey> ignored);

/// Why a model whose architecture has no row in the table is refused.
std::string WhyUnsupported(const Fields& fields, const Json& architecture);

}  // namespace scorecast::proto
