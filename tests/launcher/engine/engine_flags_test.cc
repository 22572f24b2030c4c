#include "launcher/engine/engine_flags.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/shard/kernels/made_up_cpus.h"

namespace scorecast::launcher {
namespace engine_flags_test {

using namespace shard;

std::string Fault(const std::string& kernel, CpuFeatures features) {
  try {
    FeaturesFromFlag(kernel, features);
  } catch (const proto::StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(FeaturesFromFlag, AutoIsAllThatTheCpuHas) {
  for (const CpuFeatures features : {CpuFeatures(), kHaswell, kAlderLake, kSapphireRapids}) {
    EXPECT_EQ(FeaturesFromFlag("auto", features), features);
  }
}

#if defined(__x86_64__)

TEST(FeaturesFromFlag, AKernelSetTakesOtherFeaturesAway) {
  EXPECT_EQ(FeaturesFromFlag("generic", kZen4), CpuFeatures());
  EXPECT_EQ(FeaturesFromFlag("avx2", kSapphireRapids), kHaswell);
  EXPECT_EQ(FeaturesFromFlag("avx2_vnni", kSapphireRapids), kAlderLake);
  EXPECT_EQ(FeaturesFromFlag("avx512", kZen4), kSkylakeX);
  EXPECT_EQ(FeaturesFromFlag("avx512_vnni", kZen4), kCascadeLake);
  // oneDNN may use AMX.
  EXPECT_EQ(FeaturesFromFlag("avx512_bf16", kSapphireRapids), kSapphireRapids);
}

TEST(FeaturesFromFlag, NamesWhatTheCpuLacks) {
  EXPECT_EQ(Fault("avx2", {}), "--kernel avx2: this CPU has no AVX2; its best kernels are generic");
  EXPECT_EQ(
      Fault("avx512_vnni", kHaswell),
      "--kernel avx512_vnni: this CPU has no AVX-512, AVX512-VNNI; its best kernels are avx2");
  EXPECT_EQ(Fault("avx512", kAlderLake),
            "--kernel avx512: this CPU has no AVX-512; its best kernels are avx2_vnni");
  EXPECT_EQ(Fault("avx2_vnni", kZen4),
            "--kernel avx2_vnni: this CPU has no AVX-VNNI; its best kernels are avx512_bf16");
  EXPECT_EQ(Fault("avx512_bf16", kZen4), "");
}

#endif

}  // namespace engine_flags_test
}  // namespace scorecast::launcher
