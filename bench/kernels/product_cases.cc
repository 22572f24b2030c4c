#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/kernels/kernel_cases.h"
#include "bench/roofline/random_bytes.h"
#include "shard/linear/activations.h"
#include "shard/linear/linear.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::bench {
namespace {

// Gate and up of the shape 0.5b.
constexpr std::int64_t kIn = 1024;
constexpr std::int64_t kOut = std::int64_t{2} * 3072;
constexpr std::int64_t kMostRows = 128;
constexpr std::int64_t kWeightBytes = std::int64_t{256} << 20;  // Of all weights at least.

class Products {
 public:
  Products(const shard::Kernels& kernels, const shard::ArithmeticChoice& choice,
           shard::Dtype stored, shard::ThreadPool& pool)
      : weight_bytes_(BytesOf(choice, stored)),
        pool_(pool),
        arithmetic_(kernels, choice, pool.threads()),
        scratch_(pool.threads()),
        input_(kMostRows * kIn * sizeof(float)),
        scales_(kMostRows) {
    RandomNumbers random;
    shard::WeightSource source;
    source.widths = shard::Chunks(kOut, shard::kChunkOutputs);
    source.in = kIn;
    source.stored = stored;
    source.read = [&](std::int64_t chunk, float* rows) {
      const std::int64_t count = source.widths[static_cast<std::size_t>(chunk)] * kIn;
      for (std::int64_t i = 0; i < count; ++i) {
        // The upper half of a float is a bfloat16, so that any stored type holds it exactly.
        rows[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(random.Next()) & 0xFFFF0000U);
      }
    };
    while (static_cast<std::int64_t>(weights_.size()) * weight_bytes_ < kWeightBytes) {
      weights_.emplace_back(arithmetic_.layer_backend(), choice.layers, source, pool, scratch_);
    }
    x_ = {choice.layers, kIn, input_.data(), scales_.data()};
    std::vector<float> row(kIn);
    for (std::int64_t i = 0; i < kMostRows; ++i) {
      for (float& number : row) {
        number = random.Next();
      }
      x_.Set(kernels, i, row.data());
    }
  }

  /// Of one weight.
  static std::int64_t BytesOf(const shard::ArithmeticChoice& choice, shard::Dtype stored) {
    return kOut * kIn * choice.layer_backend->WeightSize(choice.layers, stored);
  }
  std::int64_t weight_bytes() const { return weight_bytes_; }

  void Multiply(std::int64_t rows) {
    weights_[next_++ % weights_.size()].Forward(x_, rows, pool_, [](const shard::ProductTile&) {});
  }

 private:
  std::int64_t weight_bytes_;
  shard::ThreadPool& pool_;
  shard::Arithmetic arithmetic_;
  shard::TileScratch scratch_;
  shard::AlignedBuffer<std::byte> input_;
  shard::AlignedBuffer<float> scales_;
  shard::Activations x_;
  std::vector<shard::Linear> weights_;  // Used in turns.
  std::size_t next_ = 0;
};

}  // namespace

std::vector<KernelCase> ProductCases(const shard::Kernels& kernels,
                                     const shard::ArithmeticChoice& choice,
                                     shard::ThreadPool& pool) {
  std::vector<KernelCase> cases;
  const auto add = [&](shard::Dtype stored, const std::string& of_weights) {
    for (const std::int64_t rows : {1, 4, 16, 128}) {
      cases.push_back(
          {"product, " + std::to_string(rows) + (rows == 1 ? " row" : " rows") + of_weights,
           [=, &kernels, &pool] {
             auto products = std::make_shared<Products>(kernels, choice, stored, pool);
             return KernelRun{.operations = 2.0 * static_cast<double>(rows * kOut * kIn),
                              .bytes = static_cast<double>(products->weight_bytes()),
                              .run = [products, rows] { products->Multiply(rows); }};
           }});
    }
  };
  add(shard::Dtype::kF32, "");
  if (Products::BytesOf(choice, shard::Dtype::kBF16) <
      Products::BytesOf(choice, shard::Dtype::kF32)) {
    add(shard::Dtype::kBF16, ", weights held in bf16");
  }
  return cases;
}

}  // namespace scorecast::bench
