#include "shard/linear/arithmetic.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shard/linear/onednn_backend.h"

namespace scorecast::shard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};

TEST(ChooseArithmetic, IsOfThePrecisionAskedFor) {
  for (const Precision precision : kPrecisions) {
    const ArithmeticChoice choice = ChooseArithmetic(precision);
    EXPECT_EQ(choice.layers, precision);
    EXPECT_EQ(choice.layers_by_onednn, OneDnnBackend::Supports(precision));
    EXPECT_NE(choice.lm_head, Precision::kInt8);
    EXPECT_EQ(choice.lm_head_by_onednn, OneDnnBackend::Supports(choice.lm_head));
    if (precision != Precision::kInt8) {
      EXPECT_EQ(choice.lm_head, precision);
    }
  }
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
    const Arithmetic arithmetic(kernels, ChooseArithmetic(precision), 1);
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
  choice.layers_by_onednn = true;
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
  const auto supports_any = [] {
    return OneDnnBackend::Supports(Precision::kFloat32) ||
           OneDnnBackend::Supports(Precision::kBfloat16) ||
           OneDnnBackend::Supports(Precision::kInt8);
  };
  const auto ends_with_none = [&](InstructionSet set) {
    LimitOneDnn(set);
    std::exit(supports_any() ? 1 : 0);
  };
  EXPECT_EXIT(ends_with_none(InstructionSet::kGeneric), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ends_with_none(InstructionSet::kAvx2), ::testing::ExitedWithCode(0), "");
  const auto ends_without_bf16 = [&] {
    LimitOneDnn(InstructionSet::kAvx512);
    std::exit(OneDnnBackend::Supports(Precision::kBfloat16) ? 1 : 0);
  };
  EXPECT_EXIT(ends_without_bf16(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace scorecast::shard
