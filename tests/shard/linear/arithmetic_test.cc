#include "shard/linear/arithmetic.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dnnl.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shard/linear/onednn_backend.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/kernels/made_up_cpus.h"
#include "tests/shard/linear/print_precision.h"

namespace scorecast::shard {
namespace arithmetic_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};

const BackendEntry* Entry(std::string_view name) {
  const auto found = std::ranges::find(Backends(), name, &BackendEntry::name);
  return found == Backends().end() ? nullptr : &*found;
}

TEST(ChooseArithmetic, IsOfThePrecisionAskedFor) {
  const CpuFeatures features = DetectCpuFeatures();
  const auto expect_first = [&](const BackendEntry* chosen, Precision precision) {
    for (const BackendEntry& entry : Backends()) {
      EXPECT_EQ(&entry == chosen, entry.supports(precision, features)) << entry.name;
      if (&entry == chosen) {
        break;
      }
    }
  };
  for (const Precision precision : kPrecisions) {
    const ArithmeticChoice choice = ChooseArithmetic(precision, features);
    EXPECT_EQ(choice.layers, precision);
    expect_first(choice.layer_backend, precision);
    EXPECT_NE(choice.lm_head, Precision::kInt8);
    expect_first(choice.lm_head_backend, choice.lm_head);
    if (precision != Precision::kInt8) {
      EXPECT_EQ(choice.lm_head, precision);
    }
  }
}

TEST(Backends, SupportEveryPrecisionOnAnyCpu) {
  for (const Precision precision : kPrecisions) {
    EXPECT_TRUE(std::ranges::any_of(Backends(), [&](const BackendEntry& backend) {
      return backend.supports(precision, CpuFeatures());
    })) << Name(precision);
  }
}

/// The libraries that the table chooses for a CPU with these features if all of them pass their
/// checks.
std::string Chosen(Precision precision, CpuFeatures features) {
  const ArithmeticChoice choice = ChooseArithmetic(
      Backends(), PrecisionsFor(precision, features),
      [&](const BackendEntry& entry, Precision of_products) {
        return std::ranges::any_of(entry.products, [&](const ProductNeeds& product) {
          return product.precision == of_products && features.Contain(product.needs);
        });
      });
  return std::string(choice.layer_backend->name) + ", lm-head " +
         std::string(Name(choice.lm_head)) + " " + std::string(choice.lm_head_backend->name);
}

TEST(ChooseArithmetic, TakesWhatIsFastOnTheCpu) {
  constexpr Precision kF32 = Precision::kFloat32;
  constexpr Precision kBf16 = Precision::kBfloat16;
  constexpr Precision kInt8 = Precision::kInt8;
  for (const CpuFeatures features : {kHaswell, kAlderLake}) {
    EXPECT_EQ(Chosen(kF32, features), "scorecast, lm-head f32 scorecast");
    EXPECT_EQ(Chosen(kBf16, features), "scorecast, lm-head bf16 scorecast");
    EXPECT_EQ(Chosen(kInt8, features), "scorecast, lm-head f32 scorecast");
  }
  EXPECT_EQ(Chosen(kF32, kSkylakeX), "scorecast, lm-head f32 scorecast");
  EXPECT_EQ(Chosen(kBf16, kSkylakeX), "scorecast, lm-head bf16 scorecast");
  EXPECT_EQ(Chosen(kInt8, kSkylakeX), "scorecast, lm-head f32 scorecast");
  EXPECT_EQ(Chosen(kF32, kCascadeLake), "scorecast, lm-head f32 scorecast");
  EXPECT_EQ(Chosen(kBf16, kCascadeLake), "scorecast, lm-head bf16 scorecast");
  EXPECT_EQ(Chosen(kInt8, kCascadeLake), "oneDNN, lm-head f32 scorecast");
  for (const CpuFeatures features : {kZen4, kSapphireRapids}) {
    EXPECT_EQ(Chosen(kF32, features), "oneDNN, lm-head f32 oneDNN");
    EXPECT_EQ(Chosen(kBf16, features), "oneDNN, lm-head bf16 oneDNN");
    EXPECT_EQ(Chosen(kInt8, features), "oneDNN, lm-head bf16 oneDNN");
  }
  EXPECT_EQ(Chosen(kF32, {}), "OpenBLAS, lm-head f32 OpenBLAS");
  EXPECT_EQ(Chosen(kBf16, {}), "OpenBLAS, lm-head bf16 OpenBLAS");
  EXPECT_EQ(Chosen(kInt8, {}), "scorecast, lm-head f32 OpenBLAS");
}

// Weights of a shape without a kernel go to the next backend that has all precisions of the engine.
TEST(ChooseArithmetic, FallsBackInTheOrderOfTheTable) {
  for (const Precision precision : kPrecisions) {
    const ArithmeticChoice choice = ChooseArithmetic(precision, DetectCpuFeatures());
    EXPECT_TRUE(std::ranges::is_sorted(choice.fallbacks));
    for (const BackendEntry* fallback : choice.fallbacks) {
      EXPECT_TRUE(fallback->supports(choice.layers, DetectCpuFeatures()));
      EXPECT_TRUE(fallback->supports(choice.lm_head, DetectCpuFeatures()));
    }
    if (choice.layer_backend == Entry("oneDNN")) {
      EXPECT_NE(choice.fallbacks.back(), Entry("oneDNN")) << "it may lack a kernel for a shape";
    }
  }
}

// On older CPUs, libraries lack some precisions.
TEST(ChooseArithmetic, TakesTheFirstThatSupportsThePrecision) {
  const auto entry = [](std::string_view name) {
    return BackendEntry{.name = name, .products = {}, .passes_check = nullptr, .make = nullptr};
  };
  const BackendEntry table[] = {entry("fast"), entry("slower"), entry("any")};
  const BackendEntry* fast = &table[0];
  const BackendEntry* slower = &table[1];
  const BackendEntry* any = &table[2];
  using Supported = std::set<std::pair<const BackendEntry*, Precision>>;
  const auto expect = [&](const Supported& supported, ProductPrecisions precisions,
                          const BackendEntry* layer_backend, const BackendEntry* lm_head_backend) {
    const ArithmeticChoice choice =
        ChooseArithmetic(table, precisions, [&](const BackendEntry& backend, Precision precision) {
          return &backend == any || supported.contains({&backend, precision});
        });
    EXPECT_EQ(choice.layers, precisions.layers);
    EXPECT_EQ(choice.layer_backend, layer_backend);
    EXPECT_EQ(choice.lm_head, precisions.lm_head);
    EXPECT_EQ(choice.lm_head_backend, lm_head_backend);
  };
  constexpr Precision kF32 = Precision::kFloat32;
  constexpr Precision kBf16 = Precision::kBfloat16;
  constexpr Precision kInt8 = Precision::kInt8;
  const Supported all = {{fast, kF32},    {slower, kF32}, {fast, kBf16},
                         {slower, kBf16}, {fast, kInt8},  {slower, kInt8}};
  expect(all, {kF32, kF32}, fast, fast);
  expect(all, {kBf16, kBf16}, fast, fast);
  expect(all, {kInt8, kBf16}, fast, fast);
  const Supported some = {{slower, kF32}, {fast, kInt8}, {slower, kInt8}};
  expect(some, {kF32, kF32}, slower, slower);
  expect(some, {kBf16, kBf16}, any, any);
  expect(some, {kInt8, kF32}, fast, slower);
  expect({{slower, kBf16}, {fast, kF32}}, {kInt8, kBf16}, any, slower);
  expect({}, {kF32, kF32}, any, any);
  expect({}, {kBf16, kBf16}, any, any);
  expect({}, {kInt8, kF32}, any, any);
}

// The library and the kernels that it has chosen, as the log names them.
TEST(RoundingLibrary, IsNamedWithItsVariant) {
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  ArithmeticChoice choice;  // By OpenBLAS.
  const std::string core = Arithmetic(kernels, choice, 1)
                               .Description()
                               .substr(std::string_view("f32 by OpenBLAS ").size());
  EXPECT_THAT(RoundingLibrary(choice, true),
              ::testing::AllOf(StartsWith("OpenBLAS 0."), ::testing::EndsWith(" " + core)));
  EXPECT_EQ(RoundingLibrary(choice, false), RoundingLibrary(choice, true));
  choice.layers = Precision::kInt8;
  EXPECT_EQ(RoundingLibrary(choice, false), "") << "int8 is exact, and there is no lm-head";
  EXPECT_THAT(RoundingLibrary(choice, true), StartsWith("OpenBLAS "));
  choice.lm_head_backend = Entry("scorecast");
  EXPECT_EQ(RoundingLibrary(choice, true), "scorecast");
  if (OneDnnBackend::PassesCheck(Precision::kFloat32)) {
    choice.lm_head_backend = Entry("oneDNN");
    EXPECT_THAT(RoundingLibrary(choice, true), ::testing::ContainsRegex("^oneDNN [0-9.]+ brg"));
  }
}

TEST(DefaultPrecision, IsBfloat16IfThereAreInstructionsForIt) {
  EXPECT_EQ(DefaultPrecision({}), Precision::kFloat32);
  for (const CpuFeatures features : {kHaswell, kAlderLake, kSkylakeX, kCascadeLake}) {
    EXPECT_EQ(DefaultPrecision(features), Precision::kFloat32) << Names(features);
  }
  EXPECT_EQ(DefaultPrecision(kZen4), Precision::kBfloat16);
  EXPECT_EQ(DefaultPrecision(kSapphireRapids), Precision::kBfloat16);
}

TEST(Arithmetic, KeepsKeysAsItsLayersAre) {
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  for (const Precision precision : kPrecisions) {
    const Arithmetic arithmetic(kernels, ChooseArithmetic(precision, DetectCpuFeatures()), 1);
    EXPECT_EQ(&arithmetic.attention(),
              precision == Precision::kFloat32 ? &kernels.attention_f32 : &kernels.attention_bf16);
  }
}

TEST(Arithmetic, SaysWhatItComputesWith) {
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  ArithmeticChoice choice;
  choice.layers = Precision::kInt8;
  choice.layer_backend = Entry("scorecast");
  choice.lm_head = Precision::kBfloat16;
  EXPECT_THAT(
      Arithmetic(kernels, choice, 1).Description(),
      ::testing::AllOf(StartsWith("int8 by scorecast "), HasSubstr(", lm-head bf16 by OpenBLAS")));
  choice.layer_backend = Entry("oneDNN");
  choice.layers = Precision::kBfloat16;
  EXPECT_THAT(Arithmetic(kernels, choice, 1).Description(),
              ::testing::AllOf(StartsWith("bf16 by oneDNN "), Not(HasSubstr("lm-head"))));
}

TEST(Arithmetic, WarnsIfProductsHaveNoKernel) {
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  ArithmeticChoice choice;  // By OpenBLAS.
  choice.layers = Precision::kBfloat16;
  EXPECT_THAT(
      Arithmetic(kernels, choice, 1).Warning(),
      ::testing::AllOf(StartsWith("bf16 products have no kernel"), HasSubstr("OpenBLAS widens")));
  for (const Precision precision : {Precision::kBfloat16, Precision::kInt8}) {
    const BackendEntry* one_dnn = Entry("oneDNN");
    EXPECT_EQ(Arithmetic(kernels, {.layers = precision, .layer_backend = one_dnn}, 1).Warning(),
              "");
  }
  // Nothing is packed yet, so no panel is known to be low.
  choice.layers = Precision::kFloat32;
  EXPECT_EQ(Arithmetic(kernels, choice, 1).Warning(), "");
  choice.lm_head = Precision::kBfloat16;
  EXPECT_THAT(Arithmetic(kernels, choice, 1).Warning(),
              StartsWith("bf16 products of the lm-head have no kernel"));
}

// A run with OpenBLAS's AVX2 kernels has only low panels. A run with its AVX-512 kernels has not.
TEST(Arithmetic, WarnsIfOpenBlasHasLowPanelsOnly) {
  Arithmetic arithmetic(KernelsFor(DetectCpuFeatures()), ArithmeticChoice(), 1);
  ThreadPool pool(1);
  WeightSource source;
  source.widths = {64};
  source.in = 256;
  source.read = [](std::int64_t, float* rows) { std::fill_n(rows, 64 * 256, 1.0F); };
  arithmetic.layer_backend().Pack(Precision::kFloat32, source, pool);
  const std::vector<std::int64_t> heights = arithmetic.layer_backend().Heights(Precision::kFloat32);
  ASSERT_FALSE(heights.empty());
  EXPECT_THAT(arithmetic.Heights(), HasSubstr(" " + std::to_string(heights.back()) + ", lm-head"));
  if (heights.back() == kMostTileRows) {
    EXPECT_EQ(arithmetic.Warning(), "");
  } else {
    EXPECT_THAT(
        arithmetic.Warning(),
        ::testing::AllOf(StartsWith("f32 products have no kernel"),
                         HasSubstr("computes " + std::to_string(heights.back()) + " rows")));
  }
}

// Each runs in a new process in which oneDNN has not been called yet.
TEST(LimitOneDnnDeath, TakesInstructionsAway) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) {
    GTEST_SKIP() << "ONEDNN_MAX_CPU_ISA takes precedence";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends_with_none_of = [&](std::span<const Precision> precisions, CpuFeatures features) {
    LimitOneDnn(features);
    std::exit(std::ranges::any_of(precisions, &OneDnnBackend::PassesCheck) ? 1 : 0);
  };
  // oneDNN 3 has float32 products for AVX2 that keep the bits of a row in some shapes.
  const std::span precisions(kPrecisions);
  const std::span without_f32 = precisions.subspan(dnnl_version()->major > 2 ? 1 : 0);
  EXPECT_EXIT(ends_with_none_of(precisions, {}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ends_with_none_of(without_f32, kHaswell), ::testing::ExitedWithCode(0), "");
  const auto ends_without_bf16 = [&](CpuFeatures features) {
    LimitOneDnn(features);
    std::exit(OneDnnBackend::PassesCheck(Precision::kBfloat16) ? 1 : 0);
  };
  EXPECT_EXIT(ends_without_bf16(kCascadeLake), ::testing::ExitedWithCode(0), "");
}

}  // namespace arithmetic_test
}  // namespace scorecast::shard
