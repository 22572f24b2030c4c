#pragma once

#include <ostream>

#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {

/// Makes GoogleTest print a dtype as safetensors spells it.
inline void PrintTo(Dtype dtype, std::ostream* out) {
  switch (dtype) {
    case Dtype::kF32:
      *out << "F32";
      break;
    case Dtype::kF16:
      *out << "F16";
      break;
    case Dtype::kBF16:
      *out << "BF16";
      break;
  }
}

}  // namespace scorecast::shard
