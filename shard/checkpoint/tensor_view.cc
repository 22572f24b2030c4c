#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {

std::string ShapeText(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t dimension : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  }
  return text + "]";
}

}  // namespace scorecast::shard
