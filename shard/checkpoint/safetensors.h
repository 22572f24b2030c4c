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
  std::optional<Dtype> dtype;   ///< None: a dtype of the format that we do not read.
  std::string_view dtype_name;  ///< As in the file; of static storage.
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< Inside the file; its size is that of shape and dtype.
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  ///< In the order of their bytes, which have no gaps.
};

/// Reads the header of a whole file's bytes, touching none of the data, and holds it to the format
/// as the safetensors library does: the header's length is at most 100 MB, tensors lie one after
/// the other, without holes or overlaps, from the header's end to the file's. Stricter than the
/// library in that names may not repeat and unknown fields of a tensor are refused.
/// Throws StartupError, one line that begins with `origin` and names the tensor where there is one.
SafetensorsHeader ParseSafetensorsHeader(std::span<const std::byte> file_bytes,
                                         const std::string& origin);

}  // namespace scorecast::shard
