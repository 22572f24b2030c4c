#include "shard/kernels/cpu_features.h"

#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/made_up_cpus.h"

namespace scorecast::shard {
namespace cpu_features_test {

using enum CpuFeature;

TEST(CpuFeatures, AreSets) {
  const CpuFeatures none;
  const CpuFeatures alder_lake = {kAvx2, kAvxVnni};
  const CpuFeatures skylake_x = {kAvx2, kAvx512};
  EXPECT_TRUE(none.Contain({}));
  EXPECT_FALSE(none.Contain({kAvx2}));
  EXPECT_TRUE(alder_lake.Contain({kAvx2}));
  EXPECT_FALSE(alder_lake.Contain(skylake_x));
  EXPECT_FALSE(skylake_x.Contain(alder_lake));
  EXPECT_EQ(alder_lake & skylake_x, CpuFeatures{kAvx2});
  EXPECT_EQ(alder_lake | skylake_x, (CpuFeatures{kAvx2, kAvxVnni, kAvx512}));
  EXPECT_EQ(alder_lake - skylake_x, CpuFeatures{kAvxVnni});
  EXPECT_EQ(CpuFeatures::FromBits(skylake_x.bits()), skylake_x);
}

TEST(CpuFeatures, HaveNames) {
  EXPECT_EQ(Names({}), "");
  EXPECT_EQ(Names({kAvx512}), "AVX-512");
  EXPECT_EQ(Names(kSapphireRapids),
            "AVX2, AVX-VNNI, AVX-512, AVX512-VNNI, AVX512-BF16, AMX-INT8, AMX-BF16");
}

TEST(DetectCpuFeatures, FindsNothingWithoutAvx2) {
  const CpuFeatures features = DetectCpuFeatures();
  EXPECT_TRUE(features == CpuFeatures() || features.Contain({kAvx2})) << Names(features);
}

#if defined(__x86_64__)

TEST(KernelSets, TheBestIsTheFirstThatTheCpuCanRun) {
  EXPECT_EQ(BestKernelSet({}).name, "generic");
  EXPECT_EQ(BestKernelSet(kHaswell).name, "avx2");
  EXPECT_EQ(BestKernelSet(kAlderLake).name, "avx2_vnni");
  EXPECT_EQ(BestKernelSet(kSkylakeX).name, "avx512");
  EXPECT_EQ(BestKernelSet(kCascadeLake).name, "avx512_vnni");
  EXPECT_EQ(BestKernelSet(kZen4).name, "avx512_bf16");
  EXPECT_EQ(BestKernelSet(kSapphireRapids).name, "avx512_bf16");
}

TEST(KernelSets, RanksWithDifferentCpusUseWhatAllOfThemHave) {
  EXPECT_EQ(BestKernelSet(kAlderLake & kSkylakeX).name, "avx2");
  EXPECT_EQ(BestKernelSet(kAlderLake & kSapphireRapids).name, "avx2_vnni");
  EXPECT_EQ(BestKernelSet(kSkylakeX & kZen4).name, "avx512");
  EXPECT_EQ(BestKernelSet(kCascadeLake & kZen4).name, "avx512_vnni");
}

#endif

TEST(KernelSets, HaveNamesAndKernelsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<const Kernels*> kernels;
  for (const KernelSet& set : KernelSets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_TRUE(kernels.insert(set.kernels).second) << set.name;
    // No set before it needs less: it is the best for a CPU that has exactly what it needs.
    EXPECT_EQ(BestKernelSet(set.needs).name, set.name);
    EXPECT_EQ(&KernelsFor(set.needs), set.kernels);
  }
}

}  // namespace cpu_features_test
}  // namespace scorecast::shard
