#include "coordinator/endpoints/embedding_vectors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

Expected<std::vector<float>> EmbeddingVectors::Of(const proto::RowLogits& row,
                                                  std::size_t index) const {
  const auto kept = std::min(static_cast<std::size_t>(size), row.embedding.size());
  std::vector<float> vector(row.embedding.begin(),
                            row.embedding.begin() + static_cast<std::ptrdiff_t>(kept));
  if (normalizes) {
    Normalize(vector);
  }
  if (!std::ranges::all_of(vector, [](float value) { return std::isfinite(value); })) {
    return Unexpected(NotFinite(At(field, index)));
  }
  return vector;
}

Expected<EmbeddingVectors> CheckVectors(std::optional<std::int64_t> dimensions,
                                        std::optional<bool> normalize,
                                        const std::string& dimensions_field,
                                        const proto::ModelConfig& config) {
  const std::int64_t size = config.read_head->output_size;
  if (dimensions && (*dimensions < 1 || *dimensions > size)) {
    return Unexpected(BadRequest("dimensions_out_of_range",
                                 dimensions_field + " must be from 1 to " + std::to_string(size) +
                                     ", not " + std::to_string(*dimensions) + ".",
                                 dimensions_field));
  }
  EmbeddingVectors vectors;
  vectors.size = dimensions.value_or(size);
  vectors.normalizes = normalize.value_or(vectors.size != size);
  vectors.keeps_length = !normalize.value_or(true);
  return vectors;
}

std::optional<proto::Error> BitsFault(const EmbeddingVectors& vectors, const std::string& field) {
  if (vectors.size % 8 == 0) {
    return std::nullopt;
  }
  return BadRequest(
      "dimensions_not_divisible",
      "Embeddings of bits have a multiple of 8 values, not " + std::to_string(vectors.size) + ".",
      field);
}

}  // namespace scorecast::coordinator
