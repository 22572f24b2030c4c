// Arbitrary bytes as a safetensors file: it is read within its bounds, or refused with one clear
// line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "proto/base/error.h"
#include "shard/checkpoint/safetensors.h"
#include "shard/checkpoint/tensor_view.h"
#include "tests/shard/checkpoint/file_of_bytes.h"

namespace {

using scorecast::proto::Range;
using scorecast::shard::SafetensorsEntry;
using scorecast::shard::TensorView;
using scorecast::shard::WeightFile;

void Require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

/// Reads a whole tensor by rows and, if it is a matrix, its outer columns.
void ReadWhole(const TensorView& tensor) {
  if (tensor.shape.empty()) {
    return;
  }
  std::vector<float> out(static_cast<std::size_t>(tensor.num_elements()));
  scorecast::shard::ReadRows(tensor, {0, tensor.shape[0]}, out.data());
  if (tensor.shape.size() != 2 || tensor.num_elements() == 0) {
    return;
  }
  const std::int64_t cols = tensor.shape[1];
  for (const Range range : {Range{0, 1}, Range{cols - 1, cols}}) {
    std::vector<float> column(static_cast<std::size_t>(tensor.shape[0]));
    scorecast::shard::ReadBlock(tensor, {0, tensor.shape[0]}, range, column.data(), 1);
    for (std::size_t row = 0; row < column.size(); ++row) {
      const std::size_t at =
          row * static_cast<std::size_t>(cols) + static_cast<std::size_t>(range.begin);
      Require(std::memcmp(&column[row], &out[at], sizeof(float)) == 0);
    }
  }
}

void CheckTensors(const std::vector<SafetensorsEntry>& tensors, const WeightFile& file) {
  // Tensors lie back to back up to the file's end.
  std::int64_t next = tensors.empty() ? file.size() : tensors[0].offset;
  for (const SafetensorsEntry& tensor : tensors) {
    Require(tensor.offset == next);
    next += tensor.bytes;
    Require(next <= file.size());
    std::uint64_t elements = 1;
    for (const std::int64_t dimension : tensor.shape) {
      Require(dimension >= 0);
      elements *= static_cast<std::uint64_t>(dimension);
    }
    if (tensor.dtype) {
      const TensorView view{*tensor.dtype, tensor.shape, &file, tensor.offset, tensor.bytes};
      Require(static_cast<std::uint64_t>(view.num_elements()) == elements);
      ReadWhole(view);
    }
  }
  Require(next == file.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const scorecast::shard::FileOfBytes bytes(std::as_bytes(std::span(data, size)));
  const WeightFile& file = bytes.file();
  try {
    CheckTensors(scorecast::shard::ReadSafetensorsHeader(file).tensors, file);
  } catch (const scorecast::proto::StartupError& error) {
    const std::string message = error.what();
    Require(message.starts_with(file.name() + ": ") && message.size() < 1000);
    Require(std::ranges::none_of(message, [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
  }
  return 0;
}
