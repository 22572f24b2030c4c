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

/// How a request wants its vectors.
struct VectorOptions {
  /// Number of values that are kept; absent: those of the model.
  std::optional<std::int64_t> dimensions;
  std::string dimensions_field = "dimensions";
  /// Whether vectors have length 1; absent: as the model has them, and a vector that is cut is
  /// normalised.
  std::optional<bool> normalize;
  /// The field that asks for an encoding in bits. Absent: none does.
  std::optional<std::string> bits_field;
};

/// The same, checked. A 400 if `dimensions` is out of range, or if values that are encoded in bits
/// do not fill bytes.
proto::Expected<EmbeddingVectors> CheckVectors(const VectorOptions& options,
                                               const proto::ModelConfig& config);

/// The 400 of a `field` that is none of `names`, such as "float or base64". A type of integers gets
/// a sentence of its own.
proto::Error UnknownEncoding(const std::string& field, const std::string& names,
                             const std::string& given);

}  // namespace scorecast::coordinator
