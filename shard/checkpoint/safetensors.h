#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shard/checkpoint/tensor_view.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

/// One tensor of a file, as its header describes it.
struct SafetensorsEntry {
  std::string name;
  std::optional<Dtype> dtype;   ///< Nullopt: a dtype of the format that we do not read.
  std::string_view dtype_name;  ///< The spelling in the file; static storage.
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< Offset of the first byte in the file.
  std::int64_t bytes = 0;   ///< The size that shape and dtype imply.
};

struct SafetensorsHeader {
  std::string text;                       ///< JSON, as in the file.
  std::vector<SafetensorsEntry> tensors;  ///< In the order of their bytes, which follow each other
                                          ///< without gaps.
};

/// Reads the header of a file, but not the tensors' data, and checks it as the safetensors library
/// does: the header has at most 100 MB, and the tensors lie one after another, without holes or
/// overlaps, from the header's end to the file's. Stricter than the library in two ways: a repeated
/// name and an unknown field of a tensor are errors. Throws StartupError, one line that begins with
/// the file's name and names the tensor if there is one.
SafetensorsHeader ReadSafetensorsHeader(const WeightFile& file);

}  // namespace scorecast::shard
