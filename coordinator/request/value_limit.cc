#include "coordinator/request/value_limit.h"

#include <string>

namespace scorecast::coordinator {

std::int64_t MaxValues(const proto::ModelConfig& config, const ServerOptions& options) {
  // An item may be an object with a text and its key, and have a list of labels.
  constexpr std::int64_t kValuesPerItem = 8;
  constexpr std::int64_t kOtherValues = std::int64_t{64} << 10;
  // A question has a key, its type, and keys and texts of up to 255 options.
  constexpr std::int64_t kValuesPerQuestion = 8 + 2 * 255;
  return config.vocab_size + kValuesPerItem * options.max_items +
         kValuesPerQuestion * options.max_questions + kOtherValues;
}

proto::Error TooManyValues(std::int64_t limit) {
  return {
      413, "too_many_values",
      "The request has too many texts, lists and objects: more than " + std::to_string(limit) + ".",
      ""};
}

}  // namespace scorecast::coordinator
