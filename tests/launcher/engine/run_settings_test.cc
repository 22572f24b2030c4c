#include "launcher/engine/run_settings.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "shard/linear/arithmetic.h"
#include "tests/reference/directories.h"
#include "tests/shard/kernels/made_up_cpus.h"

namespace scorecast::launcher {
namespace run_settings_test {

using coordinator::RunSettings;
using shard::Precision;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

proto::ModelConfig ConfigOf(const char* golden) {
  return proto::LoadModelConfig(std::filesystem::path(reference::kTestsDirectory) / "golden" /
                                golden);
}

const std::string& ValueOf(const std::string& name, const RunSettings& settings) {
  return std::ranges::find(settings, name, &RunSettings::value_type::first)->second;
}

/// The settings of an engine that computes without any special instructions.
RunSettings GenericSettings(Precision precision, const proto::ModelConfig& config) {
  return ArithmeticSettingsOf({.features = {}, .products = ChooseArithmetic(precision, {})},
                              config);
}

TEST(ArithmeticSettings, NameTheLibraryOnlyIfItsProductsRound) {
  const proto::ModelConfig language_model = ConfigOf("families/qwen3");
  const proto::ModelConfig encoder = ConfigOf("encoders/modernbert-classifier");
  const auto library = [](const RunSettings& settings) {
    return ValueOf("the library of products", settings);
  };
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    for (const proto::ModelConfig& config : {language_model, encoder}) {
      const RunSettings settings = GenericSettings(precision, config);
      EXPECT_THAT(library(settings), MatchesRegex("OpenBLAS [0-9.]+ [A-Za-z0-9_]+"));
      EXPECT_EQ(KernelsOf(settings), "generic, " + library(settings));
    }
  }
  EXPECT_THAT(library(GenericSettings(Precision::kInt8, language_model)), StartsWith("OpenBLAS "))
      << "of the lm-head";
  const RunSettings exact = GenericSettings(Precision::kInt8, encoder);
  EXPECT_EQ(library(exact), "") << "sums of int8 are exact";
  EXPECT_EQ(KernelsOf(exact), "generic");
}

// A CPU may have instructions that nothing here uses.
TEST(ArithmeticSettings, HaveTheKernelSetAndNotTheCpu) {
  const proto::ModelConfig config = ConfigOf("families/qwen3");
  const auto settings = [&](shard::CpuFeatures features) {
    return ArithmeticSettingsOf({.features = features, .products = shard::ArithmeticChoice()},
                                config);
  };
  EXPECT_EQ(settings(shard::kSapphireRapids), settings(shard::kZen4));
  EXPECT_NE(settings(shard::kCascadeLake), settings(shard::kZen4));
  EXPECT_EQ(ValueOf("--kernel", settings(shard::kHaswell)), "avx2");
}

// Vectors are float32 sums, quotients and roots, but probabilities need both functions.
TEST(ArithmeticSettings, HaveExpAndLogUnlessTheModelEmbeds) {
  const auto bits = [](const char* golden) {
    return ValueOf("the bits of the C library's exp and log",
                   GenericSettings(Precision::kFloat32, ConfigOf(golden)));
  };
  EXPECT_THAT(bits("families/qwen3"), MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(bits("families/qwen3"), bits("encoders/modernbert-classifier"));
  EXPECT_EQ(bits("encoders/bert-embed"), "");
}

TEST(ArithmeticSettings, HaveVersions) {
  const RunSettings settings = GenericSettings(Precision::kFloat32, ConfigOf("families/qwen3"));
  for (const char* name : {"the version of Highway", "the version of scorecast"}) {
    EXPECT_THAT(ValueOf(name, settings), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+")) << name;
  }
}

}  // namespace run_settings_test
}  // namespace scorecast::launcher
