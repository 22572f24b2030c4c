#include "shard/linear/onednn_backend.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <dnnl.hpp>

#include "shard/linear/bf16_block_weight.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/int8_block_weight.h"
#include "shard/linear/onednn_product.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {
namespace {

using enum CpuFeature;

struct OneDnnChunk {
  const OneDnnProduct* product = nullptr;
  std::int64_t width = 0;
  std::int64_t offset = 0;  // Offset of its weight in the buffer of all chunks.
  dnnl::memory weight;
  std::vector<float> scales;          // [width]; int8 only
  std::vector<std::int32_t> offsets;  // [width]; int8 only
};

/// Limits of oneDNN's instructions, the highest first, and the features that each needs.
constexpr std::pair<CpuFeatures, dnnl::cpu_isa> kOneDnnLimits[] = {
    {{kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16, kAmxInt8, kAmxBf16},
     dnnl::cpu_isa::avx512_core_amx},
    {{kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16}, dnnl::cpu_isa::avx512_core_bf16},
    {{kAvx2, kAvx512, kAvx512Vnni}, dnnl::cpu_isa::avx512_core_vnni},
    {{kAvx2, kAvx512}, dnnl::cpu_isa::avx512_core},
    {{kAvx2, kAvxVnni}, dnnl::cpu_isa::avx2_vnni},
    {{kAvx2}, dnnl::cpu_isa::avx2},
    {{}, dnnl::cpu_isa::sse41},
};

/// The shape of products that shows what oneDNN can do on this CPU.
constexpr std::int64_t kCheckedWidth = 64;
constexpr std::int64_t kCheckedDepth = 256;

class OneDnnWeight : public PackedWeight {
 public:
  OneDnnWeight(const Kernels& kernels, AlignedBuffer<std::byte> packed,
               std::vector<OneDnnChunk> chunks)
      : kernels_(kernels), packed_(std::move(packed)), chunks_(std::move(chunks)) {}

  std::int64_t column_granule() const override { return kWholeChunk; }

  void Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows, std::int64_t index,
                proto::Range /*columns*/, float* y, int thread) const override {
    const OneDnnChunk& chunk = chunks_[static_cast<std::size_t>(index)];
    chunk.product->Multiply(x.Row(first_row), rows, chunk.weight, y, thread);
    if (x.precision != Precision::kInt8) {
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      float* out = y + row * chunk.width;
      kernels_.dequantize(reinterpret_cast<const std::int32_t*>(out), chunk.offsets.data(),
                          chunk.scales.data(), x.scales[first_row + row], chunk.width, out);
    }
  }

 private:
  const Kernels& kernels_;
  AlignedBuffer<std::byte> packed_;  // All chunks.
  std::vector<OneDnnChunk> chunks_;
};

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace

void LimitOneDnn(CpuFeatures features) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) {
    return;
  }
  for (const auto& [needs, isa] : kOneDnnLimits) {
    if (features.Contain(needs)) {
      dnnl::set_max_cpu_isa(isa);
      return;
    }
  }
}

OneDnnBackend::OneDnnBackend(const Kernels& kernels, int threads, GemmBackend& other)
    : kernels_(kernels), threads_(threads), other_(other) {}

OneDnnBackend::~OneDnnBackend() = default;

bool OneDnnBackend::PassesCheck(Precision precision) {
  return OneDnnProduct(precision, kCheckedWidth, kCheckedDepth, 1).is_usable();
}

std::string OneDnnBackend::Variant(Precision precision) {
  return OneDnnVersion() + " " + OneDnnProduct(precision, kCheckedWidth, kCheckedDepth, 1).kernel();
}

std::string OneDnnBackend::Description(Precision precision) const {
  const std::string text = OneDnnVersion();
  for (const auto& [shape, product] : products_) {
    if (std::get<Precision>(shape) == precision && product->is_usable()) {
      return text + " " + product->kernel();
    }
  }
  return text;
}

std::vector<std::int64_t> OneDnnBackend::Heights(Precision precision) const {
  // All shapes have the same largest height. They differ only in which of the few small heights
  // they have.
  std::vector<std::int64_t> fewest;
  for (const auto& [shape, product] : products_) {
    if (std::get<Precision>(shape) == precision && product->is_usable()) {
      std::vector<std::int64_t> heights = product->Heights();
      if (fewest.empty() || heights.size() < fewest.size()) {
        fewest = std::move(heights);
      }
    }
  }
  return fewest;
}

const OneDnnProduct* OneDnnBackend::Product(Precision precision, std::int64_t width,
                                            std::int64_t in) {
  std::unique_ptr<OneDnnProduct>& product = products_[{precision, width, in}];
  if (product == nullptr) {
    product = std::make_unique<OneDnnProduct>(precision, width, in, threads_);
  }
  return product->is_usable() ? product.get() : nullptr;
}

std::unique_ptr<PackedWeight> OneDnnBackend::Pack(Precision precision, const WeightSource& source,
                                                  ThreadPool& pool) {
  const std::int64_t in = source.in;
  // All ranks must decide alike, although their chunks may have different widths.
  if (std::ranges::any_of(source.other_widths, [&](std::int64_t width) {
        return Product(precision, width, in) == nullptr;
      })) {
    return other_.Pack(precision, source, pool);
  }
  std::vector<OneDnnChunk> chunks(source.widths.size());
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    constexpr std::int64_t kLine = 64;
    chunks[i].width = source.widths[i];
    chunks[i].product = Product(precision, chunks[i].width, in);
    if (chunks[i].product == nullptr || (precision == Precision::kInt8 && in > kDeepestInt8)) {
      return other_.Pack(precision, source, pool);
    }
    chunks[i].offset = bytes;
    bytes += (chunks[i].product->packed_bytes() + kLine - 1) / kLine * kLine;
  }
  AlignedBuffer<std::byte> packed(static_cast<std::size_t>(bytes));
  packed.PreferHugePages();
  const bool narrows = precision == Precision::kBfloat16;
  ReadChunks({&source, 1}, narrows, pool,
             [&](std::size_t, std::size_t index, PackScratch& scratch) {
               OneDnnChunk& chunk = chunks[index];
               auto& [rows, narrow] = scratch;
               std::byte* to = packed.data() + chunk.offset;
               switch (precision) {
                 case Precision::kFloat32:
                   chunk.weight = chunk.product->Pack(rows.data(), to);
                   return;
                 case Precision::kBfloat16:
                   kernels_.to_bf16(rows.data(), chunk.width * in, narrow.data());
                   chunk.weight = chunk.product->Pack(narrow.data(), to);
                   return;
                 case Precision::kInt8: {
                   Int8Chunk int8 = QuantizeChunk(kernels_, rows.data(), chunk.width, in);
                   chunk.weight = chunk.product->Pack(int8.values.data(), to);
                   chunk.scales = std::move(int8.scales);
                   chunk.offsets = std::move(int8.offsets);
                   return;
                 }
               }
             });
  return std::make_unique<OneDnnWeight>(kernels_, std::move(packed), std::move(chunks));
}

std::unique_ptr<PackedBlocks> OneDnnBackend::PackBlocks(Precision precision,
                                                        std::span<const WeightSource> blocks,
                                                        std::span<const BlockStep> steps,
                                                        ThreadPool& pool) {
  // All ranks must decide alike, so this is not the shape of a weight that only this rank has.
  const OneDnnProduct* product = Product(precision, kCheckedWidth, kCheckedDepth);
  const bool uses_amx = product != nullptr && product->kernel().find("amx") != std::string::npos;
  if (!uses_amx) {
    return other_.PackBlocks(precision, blocks, steps, pool);
  }
  if (precision == Precision::kInt8 && Int8BlockWeight::Supports(kernels_, blocks, steps)) {
    return std::make_unique<Int8BlockWeight>(kernels_, uses_amx, blocks, steps, pool);
  }
  if (precision == Precision::kBfloat16 && Bf16BlockWeight::Supports(blocks, steps)) {
    return std::make_unique<Bf16BlockWeight>(kernels_, blocks, steps, pool);
  }
  return nullptr;
}

}  // namespace scorecast::shard
