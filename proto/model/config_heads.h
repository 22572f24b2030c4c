#pragma once

#include <cstdint>
#include <optional>

#include "proto/model/config_fields.h"
#include "proto/model/families.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// Bounds on the number of classes.
inline constexpr Bounds kLabels{1, 1 << 16};

/// Reads the numbers of query and K/V heads and their dimension. `config` must already have its
/// hidden_size.
void ReadAttentionHeads(const Fields& fields, const Family& family, ModelConfig& config);

/// The number of classes of a classification head. As in transformers, id2label decides if it is
/// there.
std::int64_t ReadNumLabels(const Fields& fields);

/// The `problem_type` of a classification head with `num_labels` classes; nullopt if it is absent
/// or null. As in transformers, a single class cannot be single_label_classification.
std::optional<ProblemType> ReadProblemType(const Fields& fields, std::int64_t num_labels);

}  // namespace scorecast::proto
