#include "shard/linear/sample_numbers.h"

namespace scorecast::shard {

std::vector<float> SampleNumbers(std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return numbers;
}

}  // namespace scorecast::shard
