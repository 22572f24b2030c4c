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

Expected<EmbeddingVectors> CheckVectors(const VectorOptions& options,
                                        const proto::ModelConfig& config) {
  const std::int64_t all = config.read_head->output_size;
  const std::int64_t size = options.dimensions.value_or(all);
  if (size < 1 || size > all) {
    return Unexpected(BadRequest("dimensions_out_of_range",
                                 options.dimensions_field + " must be from 1 to " +
                                     std::to_string(all) + ", not " + std::to_string(size) + ".",
                                 options.dimensions_field));
  }
  if (options.bits_field && size % 8 != 0) {
    return Unexpected(BadRequest(
        "dimensions_not_divisible",
        "Embeddings of bits have a multiple of 8 values, not " + std::to_string(size) + ".",
        *options.bits_field));
  }
  return EmbeddingVectors{.size = size,
                          .normalizes = options.normalize.value_or(size != all),
                          .keeps_length = !options.normalize.value_or(true)};
}

proto::Error UnknownEncoding(const std::string& field, const std::string& names,
                             const std::string& given) {
  const bool is_integer = given == "int8" || given == "uint8";
  return BadRequest(
      "unknown_encoding",
      field + " must be " + names + ", not " + Quoted(given) + "." +
          (is_integer ? " The ranges that hosted models map to integers are not published." : ""),
      field);
}

}  // namespace scorecast::coordinator
