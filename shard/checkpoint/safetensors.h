#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {

/// One tensor of a file, as its header describes it.
struct SafetensorsEntry {
  std::string name;
  std::optional<Dtype> dtype;   ///< Nullopt: a dtype of the format that we do not read.
  std::string_view dtype_name;  ///< The spelling in the file; static storage.
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< Part of the file, of the size that shape and dtype imply.
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< In the order of their bytes, which follow each other
                                          ///< without gaps.
};

/// Reads the header from the bytes of a whole file without touching the tensors' data, and checks
/// it as the safetensors library does: the header has at most 100 MB, and the tensors lie one after
/// another, without holes or overlaps, from the header's end to the file's. Stricter than the
/// library in two ways: a repeated name and an unknown field of a tensor are errors. Throws
/// StartupError, one line that begins with `origin` and names the tensor if there is one.
SafetensorsHeader ParseSafetensorsHeader(std::span<const std::byte> file_bytes,
                                         const std::string& origin);

}  // namespace scorecast::shard
