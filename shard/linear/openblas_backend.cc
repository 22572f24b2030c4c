#include "shard/linear/openblas_backend.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include <cblas.h>

#include "proto/base/check.h"

namespace scorecast::shard {
namespace {

using Heights = std::vector<std::int64_t>;

struct OpenBlasChunk {
  std::int64_t width = 0;
  Heights heights;
  std::byte* rows = nullptr;  // [width, in] in the precision, in the buffer of all chunks.
};

float Widen(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16U); }

class OpenBlasWeight : public PackedWeight {
 public:
  OpenBlasWeight(Precision precision, std::int64_t in, AlignedBuffer<std::byte> rows,
                 std::vector<OpenBlasChunk> chunks, std::vector<OpenBlasBackend::Scratch>& scratch)
      : precision_(precision),
        in_(in),
        rows_(std::move(rows)),
        chunks_(std::move(chunks)),
        scratch_(scratch) {}

  std::int64_t column_granule() const override { return kWholeChunk; }

  void Multiply(const Activations& x, std::int64_t first_row, std::int64_t real_rows,
                std::int64_t index, proto::Range /*columns*/, float* y, int thread) const override {
    const OpenBlasChunk& chunk = chunks_[static_cast<std::size_t>(index)];
    const std::int64_t rows = RoundUpRows(real_rows);
    if (precision_ == Precision::kFloat32) {
      SgemmPanels::Multiply(chunk.heights, reinterpret_cast<const float*>(x.Row(first_row)), rows,
                            reinterpret_cast<const float*>(chunk.rows), chunk.width, in_, y);
      return;
    }
    float* wide_x = scratch_[static_cast<std::size_t>(thread)].x.data();
    float* wide_w = scratch_[static_cast<std::size_t>(thread)].w.data();
    const auto* from = reinterpret_cast<const std::uint16_t*>(x.Row(first_row));
    std::transform(from, from + rows * in_, wide_x, &Widen);
    const auto* weight = reinterpret_cast<const std::uint16_t*>(chunk.rows);
    std::transform(weight, weight + chunk.width * in_, wide_w, &Widen);
    SgemmPanels::Multiply(chunk.heights, wide_x, rows, wide_w, chunk.width, in_, y);
  }

 private:
  Precision precision_;
  std::int64_t in_;
  AlignedBuffer<std::byte> rows_;  // Rows of all chunks, one after another.
  std::vector<OpenBlasChunk> chunks_;
  std::vector<OpenBlasBackend::Scratch>& scratch_;
};

}  // namespace

OpenBlasBackend::OpenBlasBackend(const Kernels& kernels, int threads)
    : kernels_(kernels), scratch_(static_cast<std::size_t>(threads)) {
  // Our own pool distributes the work.
  openblas_set_num_threads(1);
}

std::string OpenBlasBackend::Variant(Precision /*precision*/) {
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64". What follows the version and
  // is not the core says how calls are divided among threads, and there is only one.
  constexpr std::string_view kName = "OpenBLAS ";
  std::string_view config = openblas_get_config();
  if (config.starts_with(kName)) {
    config.remove_prefix(kName.size());
    config = config.substr(0, config.find(' '));
  }
  return std::string(config) + " " + openblas_get_corename();
}

std::string OpenBlasBackend::Description(Precision /*precision*/) const {
  return openblas_get_corename();
}

std::vector<std::int64_t> OpenBlasBackend::Heights(Precision /*precision*/) const {
  return panels_.LowestHeights();
}

std::unique_ptr<PackedWeight> OpenBlasBackend::Pack(Precision precision, const WeightSource& source,
                                                    ThreadPool& pool) {
  proto::Check(precision != Precision::kInt8, "OpenBLAS computes no int8 products");
  const std::int64_t in = source.in;
  std::vector<OpenBlasChunk> chunks(source.widths.size());
  const std::int64_t row_bytes = in * ElementSize(precision);
  std::int64_t widest = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].width = source.widths[i];
    chunks[i].heights = panels_.Heights(chunks[i].width, in);
    widest = std::max(widest, chunks[i].width);
    bytes += chunks[i].width * row_bytes;
  }
  AlignedBuffer<std::byte> packed(static_cast<std::size_t>(bytes));
  packed.PreferHugePages();
  std::byte* next = packed.data();
  for (OpenBlasChunk& chunk : chunks) {
    chunk.rows = next;
    next += chunk.width * row_bytes;
  }
  if (precision != Precision::kFloat32) {
    for (Scratch& scratch : scratch_) {
      if (scratch.x.size() < static_cast<std::size_t>(kMostTileRows * in)) {
        scratch.x = AlignedBuffer<float>(static_cast<std::size_t>(kMostTileRows * in));
      }
      if (scratch.w.size() < static_cast<std::size_t>(widest * in)) {
        scratch.w = AlignedBuffer<float>(static_cast<std::size_t>(widest * in));
      }
    }
  }
  std::vector<PackScratch> packing;
  for (int thread = 0; thread < pool.threads() && precision != Precision::kFloat32; ++thread) {
    packing.emplace_back(source, false);
  }
  pool.ParallelFor(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t index, int thread) {
    const OpenBlasChunk& chunk = chunks[static_cast<std::size_t>(index)];
    if (precision == Precision::kFloat32) {
      source.read(index, reinterpret_cast<float*>(chunk.rows));
      return;
    }
    float* rows = packing[static_cast<std::size_t>(thread)].rows.data();
    source.read(index, rows);
    kernels_.to_bf16(rows, chunk.width * in, reinterpret_cast<std::uint16_t*>(chunk.rows));
  });
  return std::make_unique<OpenBlasWeight>(precision, in, std::move(packed), std::move(chunks),
                                          scratch_);
}

}  // namespace scorecast::shard
