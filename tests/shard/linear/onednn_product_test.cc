#include "shard/linear/onednn_product.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shard/linear/gemm_backend.h"
#include "shard/linear/onednn_backend.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {
namespace onednn_product_test {

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};

bool Supports(Precision precision) { return OneDnnBackend::PassesCheck(precision); }

bool IsHeldToAvx2() {
  const char* most = std::getenv("ONEDNN_MAX_CPU_ISA");
  return most != nullptr && std::string_view(most) == "AVX2";
}

// The kernels that oneDNN has for AVX2 do not give a row the same bits at every place.
TEST(OneDnnProduct, IsNotUsableWithoutAvx512) {
  if (!IsHeldToAvx2()) {
    GTEST_SKIP() << "oneDNN is not held to AVX2 by ONEDNN_MAX_CPU_ISA";
  }
  if (dnnl_version()->major > 2) {
    GTEST_SKIP() << "newer versions have other kernels, and check them like those for AVX-512";
  }
  for (const Precision precision : kPrecisions) {
    EXPECT_FALSE(OneDnnProduct(precision, 64, 256, 1).is_usable()) << Name(precision);
    EXPECT_FALSE(Supports(precision)) << Name(precision);
  }
}

// Vocabularies, heads and intermediate ranges give chunks of any width. oneDNN has no suitable
// kernel for a single float32 output.
TEST(OneDnnProduct, IsUsableForEveryWidth) {
  if (IsHeldToAvx2()) {
    GTEST_SKIP() << "the engine does not use oneDNN's products for AVX2";
  }
  for (const Precision precision : kPrecisions) {
    if (!Supports(precision)) {
      continue;
    }
    for (const std::int64_t in : {1, 2, 17, 100, 576}) {
      for (const std::int64_t width : {1, 2, 3, 7, 16, 31, 64, 65, 255, 256}) {
        if (precision == Precision::kFloat32 && width == 1) {
          continue;
        }
        const OneDnnProduct product(precision, width, in, 1);
        EXPECT_TRUE(product.is_usable())
            << Name(precision) << ", " << width << " from " << in << ": " << product.kernel();
      }
    }
  }
}

// Sums of the largest bytes, which instructions with 16-bit sums would saturate. The deepest wrap
// around.
TEST(OneDnnProduct, Int8IsExact) {
  if (!Supports(Precision::kInt8)) {
    GTEST_SKIP() << "this CPU, or what ONEDNN_MAX_CPU_ISA leaves of it, has no int8 by oneDNN";
  }
  for (const std::int64_t in :
       {std::int64_t{2}, std::int64_t{17}, std::int64_t{100}, std::int64_t{1000}, kDeepestInt8}) {
    constexpr std::int64_t kWidth = 33;
    const OneDnnProduct product(Precision::kInt8, kWidth, in, 1);
    ASSERT_TRUE(product.is_usable());
    for (const int value : {127, -127, -128}) {
      const std::vector<std::uint8_t> x(static_cast<std::size_t>(kMostTileRows * in), 255);
      const std::vector<std::int8_t> w(static_cast<std::size_t>(kWidth * in),
                                       static_cast<std::int8_t>(value));
      std::vector<std::byte> buffer(static_cast<std::size_t>(product.packed_bytes()));
      const dnnl::memory packed = product.Pack(w.data(), buffer.data());
      for (std::int64_t rows = 1; rows <= kMostTileRows; rows += rows < kRowGranule ? 1 : 15) {
        std::vector<std::int32_t> y(static_cast<std::size_t>(RoundUpRows(rows) * kWidth));
        product.Multiply(x.data(), rows, packed, y.data(), 0);
        y.resize(static_cast<std::size_t>(rows * kWidth));
        EXPECT_EQ(y,
                  std::vector<std::int32_t>(y.size(), static_cast<std::int32_t>(255 * value * in)))
            << rows << " rows from " << in;
      }
    }
  }
}

// With this mode, which ONEDNN_DEFAULT_FPMATH_MODE sets, oneDNN may round float32 to bfloat16. On
// CPUs with AMX it does.
TEST(OneDnnProduct, Float32StaysWhatItIsInEveryDefaultMode) {
  if (!Supports(Precision::kFloat32)) {
    GTEST_SKIP() << "this CPU, or what ONEDNN_MAX_CPU_ISA leaves of it, has no f32 by oneDNN";
  }
  const auto multiply = [] {
    constexpr std::int64_t kWidth = 64;
    constexpr std::int64_t kIn = 256;
    const OneDnnProduct product(Precision::kFloat32, kWidth, kIn, 1);
    const std::vector<float> x = SampleNumbers(kRowGranule * kIn);
    const std::vector<float> w = SampleNumbers(kWidth * kIn);
    std::vector<std::byte> buffer(static_cast<std::size_t>(product.packed_bytes()));
    const dnnl::memory packed = product.Pack(w.data(), buffer.data());
    std::vector<float> y(static_cast<std::size_t>(kRowGranule * kWidth));
    product.Multiply(x.data(), kRowGranule, packed, y.data(), 0);
    return y;
  };
  const std::vector<float> expected = multiply();
  dnnl::set_default_fpmath_mode(dnnl::fpmath_mode::bf16);
  EXPECT_EQ(multiply(), expected);
  dnnl::set_default_fpmath_mode(dnnl::fpmath_mode::strict);
}

/// Packs nothing, and counts the calls of Pack.
class CountingBackend : public GemmBackend {
 public:
  std::unique_ptr<PackedWeight> Pack(Precision, const WeightSource&, ThreadPool&) override {
    ++packed;
    return nullptr;
  }
  std::string Description(Precision) const override { return "none"; }
  std::vector<std::int64_t> Heights(Precision /*precision*/) const override { return {}; }

  int packed = 0;
};

TEST(OneDnnBackend, LeavesWhatItHasNoKernelForToAnother) {
  if (!Supports(Precision::kFloat32)) {
    GTEST_SKIP() << "this CPU, or what ONEDNN_MAX_CPU_ISA leaves of it, has no f32 by oneDNN";
  }
  CountingBackend other;
  OneDnnBackend backend(KernelsFor(DetectCpuFeatures()), 1, other);
  ThreadPool pool(1);
  const auto pack = [&](std::vector<std::int64_t> widths) {
    WeightSource source;
    source.widths = std::move(widths);
    source.in = 48;
    source.read = [](std::int64_t, float*) {};
    return backend.Pack(Precision::kFloat32, source, pool);
  };
  EXPECT_NE(pack({64, 2}), nullptr);
  EXPECT_EQ(other.packed, 0);
  EXPECT_EQ(pack({64, 1}), nullptr);
  EXPECT_EQ(other.packed, 1);
}

}  // namespace onednn_product_test
}  // namespace scorecast::shard
