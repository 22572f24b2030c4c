#include "shard/checkpoint/tensor_samples.h"

#include <cstddef>
#include <span>
#include <vector>

#include "proto/base/digest.h"

namespace scorecast::shard {
namespace {

/// Bytes of one sample, and of a tensor that is read as a whole.
constexpr std::int64_t kSampleBytes = 4096;
constexpr std::int64_t kSmallBytes = 65536;

/// Calls sample(offset, bytes) for each sample of a tensor. The last sample of one tensor and the
/// first one of the next lie side by side.
template <typename Sample>
void ForEachSample(const SafetensorsEntry& tensor, const Sample& sample) {
  if (tensor.bytes <= kSmallBytes) {
    sample(tensor.offset, tensor.bytes);
    return;
  }
  sample(tensor.offset, kSampleBytes);
  sample(tensor.offset + tensor.bytes / 2, kSampleBytes);
  sample(tensor.offset + tensor.bytes - kSampleBytes, kSampleBytes);
}

}  // namespace

std::uint64_t DigestOfSamples(const WeightFile& file, const SafetensorsHeader& header) {
  proto::Digest digest;
  digest.Add(std::as_bytes(std::span(header.text)));
  std::vector<std::byte> buffer(kSmallBytes);
  for (const SafetensorsEntry& tensor : header.tensors) {
    ForEachSample(tensor, [&](std::int64_t offset, std::int64_t bytes) {
      const std::span<std::byte> part = std::span(buffer).first(static_cast<std::size_t>(bytes));
      file.Read(offset, part);
      digest.Add(part);
    });
  }
  return digest.value();
}

void PrefetchSamples(const WeightFile& file, const SafetensorsHeader& header) {
  for (const SafetensorsEntry& tensor : header.tensors) {
    ForEachSample(tensor,
                  [&](std::int64_t offset, std::int64_t bytes) { file.Prefetch(offset, bytes); });
  }
}

}  // namespace scorecast::shard
