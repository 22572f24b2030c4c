#include "shard/linear/arithmetic.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shard/linear/onednn_backend.h"

namespace scorecast::shard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};

const BackendEntry* Entry(std::string_view name) {
  const auto found = std::ranges::find(Backends(), name, &BackendEntry::name);
  return found == Backends().end() ? nullptr : &*found;
}

TEST(ChooseArithmetic, IsOfThePrecisionAskedFor) {
  const InstructionSet set = DetectInstructionSet();
  const auto expect_first = [&](const BackendEntry* chosen, Precision precision) {
    for (const BackendEntry& entry : Backends()) {
      EXPECT_EQ(&entry == chosen, entry.supports(precision, set)) << entry.name;
      if (&entry == chosen) {
        break;
      }
    }
  };
  for (const Precision precision : kPrecisions) {
    const ArithmeticChoice choice = ChooseArithmetic(precision, set);
    EXPECT_EQ(choice.layers, precision);
    expect_first(choice.layer_backend, precision);
    EXPECT_NE(choice.lm_head, Precision::kInt8);
    expect_first(choice.lm_head_backend, choice.lm_head);
    if (precision != Precision::kInt8) {
      EXPECT_EQ(choice.lm_head, precision);
    }
  }
}

TEST(Backends, TheLastOneSupportsEverything) {
  for (const Precision precision : kPrecisions) {
    EXPECT_TRUE(Backends().back().supports(precision, InstructionSet::kGeneric));
  }
}

// On older CPUs the libraries lack precisions.
TEST(ChooseArithmetic, TakesTheFirstThatSupportsThePrecision) {
  const BackendEntry table[] = {{.name = "fast", .supports = nullptr, .make = nullptr},
                                {.name = "slower", .supports = nullptr, .make = nullptr},
                                {.name = "any", .supports = nullptr, .make = nullptr}};
  const BackendEntry* fast = &table[0];
  const BackendEntry* slower = &table[1];
  const BackendEntry* any = &table[2];
  using Supported = std::set<std::pair<const BackendEntry*, Precision>>;
  const auto expect = [&](const Supported& supported, Precision layers,
                          const BackendEntry* layer_backend, Precision lm_head,
                          const BackendEntry* lm_head_backend) {
    const ArithmeticChoice choice =
        ChooseArithmetic(table, layers, [&](const BackendEntry& backend, Precision precision) {
          return &backend == any || supported.contains({&backend, precision});
        });
    EXPECT_EQ(choice.layers, layers);
    EXPECT_EQ(choice.layer_backend, layer_backend);
    EXPECT_EQ(choice.lm_head, lm_head);
    EXPECT_EQ(choice.lm_head_backend, lm_head_backend);
  };
  constexpr Precision kF32 = Precision::kFloat32;
  constexpr Precision kBf16 = Precision::kBfloat16;
  constexpr Precision kInt8 = Precision::kInt8;
  const Supported all = {{fast, kF32},    {slower, kF32}, {fast, kBf16},
                         {slower, kBf16}, {fast, kInt8},  {slower, kInt8}};
  expect(all, kF32, fast, kF32, fast);
  expect(all, kBf16, fast, kBf16, fast);
  expect(all, kInt8, fast, kBf16, fast);
  const Supported some = {{slower, kF32}, {fast, kInt8}, {slower, kInt8}};
  expect(some, kF32, slower, kF32, slower);
  expect(some, kBf16, any, kBf16, any);
  expect(some, kInt8, fast, kF32, slower);
  expect({{slower, kBf16}, {fast, kF32}}, kInt8, any, kBf16, slower);
  expect({}, kF32, any, kF32, any);
  expect({}, kBf16, any, kBf16, any);
  expect({}, kInt8, any, kF32, any);
}

TEST(DefaultPrecision, IsBfloat16IfThereAreInstructionsForIt) {
  EXPECT_EQ(DefaultPrecision(InstructionSet::kGeneric), Precision::kFloat32);
  EXPECT_EQ(DefaultPrecision(InstructionSet::kAvx2), Precision::kFloat32);
  EXPECT_EQ(DefaultPrecision(InstructionSet::kAvx512), Precision::kFloat32);
  EXPECT_EQ(DefaultPrecision(InstructionSet::kAvx512Bf16), Precision::kBfloat16);
}

TEST(Arithmetic, KeepsKeysAsItsLayersAre) {
  const Kernels& kernels = KernelsFor(DetectInstructionSet());
  for (const Precision precision : kPrecisions) {
    const Arithmetic arithmetic(kernels, ChooseArithmetic(precision, DetectInstructionSet()), 1);
    EXPECT_EQ(&arithmetic.attention(),
              precision == Precision::kFloat32 ? &kernels.attention_f32 : &kernels.attention_bf16);
  }
}

TEST(Arithmetic, SaysWhatItComputesWith) {
  const Kernels& kernels = KernelsFor(DetectInstructionSet());
  ArithmeticChoice choice;
  choice.layers = Precision::kInt8;
  choice.lm_head = Precision::kBfloat16;
  EXPECT_THAT(Arithmetic(kernels, choice, 1).Description(),
              ::testing::AllOf(StartsWith("int8 by OpenBLAS "), HasSubstr(", lm-head bf16")));
  choice.layer_backend = Entry("oneDNN");
  choice.layers = Precision::kBfloat16;
  EXPECT_THAT(Arithmetic(kernels, choice, 1).Description(),
              ::testing::AllOf(StartsWith("bf16 by oneDNN "), Not(HasSubstr("lm-head"))));
}

// Each runs in a new process in which oneDNN has not been called yet.
TEST(LimitOneDnnDeath, TakesInstructionsAway) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) {
    GTEST_SKIP() << "ONEDNN_MAX_CPU_ISA takes precedence";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto supports_any = [](InstructionSet set) {
    return std::ranges::any_of(
        kPrecisions, [&](Precision precision) { return OneDnnBackend::Supports(precision, set); });
  };
  const auto ends_with_none = [&](InstructionSet set) {
    LimitOneDnn(set);
    std::exit(supports_any(set) ? 1 : 0);
  };
  EXPECT_EXIT(ends_with_none(InstructionSet::kGeneric), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ends_with_none(InstructionSet::kAvx2), ::testing::ExitedWithCode(0), "");
  const auto ends_without_bf16 = [&] {
    LimitOneDnn(InstructionSet::kAvx512);
    std::exit(OneDnnBackend::Supports(Precision::kBfloat16, InstructionSet::kAvx512) ? 1 : 0);
  };
  EXPECT_EXIT(ends_without_bf16(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace scorecast::shard
