#include "shard/linear/gemm_backend.h"

#include <algorithm>

namespace scorecast::shard {

PackScratch::PackScratch(const WeightSource& source, bool narrows) {
  const std::int64_t widest = *std::ranges::max_element(source.widths);
  const auto size = static_cast<std::size_t>(widest * source.in);
  rows = AlignedBuffer<float>(size);
  narrow = AlignedBuffer<std::uint16_t>(narrows ? size : 0);
}

void ReadChunks(
    std::span<const WeightSource> weights, bool narrows, ThreadPool& pool,
    const std::function<void(std::size_t weight, std::size_t chunk, PackScratch& scratch)>& pack) {
  const WeightSource& deepest = *std::ranges::max_element(weights, {}, &WeightSource::in);
  std::vector<PackScratch> scratch;
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch.emplace_back(deepest, narrows);
  }
  const auto chunks = static_cast<std::int64_t>(deepest.widths.size());
  const auto tasks = static_cast<std::int64_t>(weights.size()) * chunks;
  pool.ParallelFor(tasks, [&](std::int64_t task, int thread) {
    const auto weight = static_cast<std::size_t>(task / chunks);
    PackScratch& own = scratch[static_cast<std::size_t>(thread)];
    weights[weight].read(task % chunks, own.rows.data());
    pack(weight, static_cast<std::size_t>(task % chunks), own);
  });
}

Int8Chunk QuantizeChunk(const Kernels& kernels, float* rows, std::int64_t width, std::int64_t in) {
  Int8Chunk chunk;
  chunk.values.resize(static_cast<std::size_t>(width * in));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(in));
  for (std::int64_t row = 0; row < width; ++row) {
    kernels.rotate(rows + row * in, in);
    chunk.scales.push_back(kernels.quantize(rows + row * in, in, bytes.data()));
    std::int8_t* to = chunk.values.data() + row * in;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      const int value = int{bytes[static_cast<std::size_t>(i)]} - 128;
      to[i] = static_cast<std::int8_t>(value);
      sum += value;
    }
    chunk.offsets.push_back(128 * sum);
  }
  return chunk;
}

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
