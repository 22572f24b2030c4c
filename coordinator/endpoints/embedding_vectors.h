#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// What a request makes of the model's vectors.
struct EmbeddingVectors {
  std::int64_t size = 0;  ///< The first values of a vector are kept.
  bool normalizes = false;
  /// Whether they are to be read as they are before the model normalises them: see proto::RowRead.
  bool keeps_length = false;
  std::string field;  ///< Name of the texts in the request.

  /// That of a vector read from a row. The 500 "not_finite" names text `index`.
  proto::Expected<std::vector<float>> Of(const proto::RowLogits& row, std::size_t index) const;
};

/// `dimensions` is how many values the client wants to keep, and `normalize` whether it wants
/// vectors of length 1; what is absent is the model's. A vector that is cut is normalised unless
/// the client does not want it. A 400 if `dimensions`, whose name is `dimensions_field`, is out of
/// range.
proto::Expected<EmbeddingVectors> CheckVectors(std::optional<std::int64_t> dimensions,
                                               std::optional<bool> normalize,
                                               const std::string& dimensions_field,
                                               const proto::ModelConfig& config);

/// The 400 of an encoding in bits of vectors whose size is not divisible by 8.
std::optional<proto::Error> BitsFault(const EmbeddingVectors& vectors, const std::string& field);

}  // namespace scorecast::coordinator
