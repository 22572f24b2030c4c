#include "bench/roofline/instruction_loops.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::bench {
namespace instruction_loops_test {

#if defined(__x86_64__)
using enum shard::CpuFeature;

std::vector<std::string> Instructions(const std::string& dtype, shard::CpuFeatures features) {
  std::vector<std::string> names;
  for (const InstructionLoop& loop : InstructionLoops(dtype, features)) {
    names.push_back(loop.instruction);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(InstructionLoops, AreThoseOfTheFeatures) {
  EXPECT_EQ(Instructions("f32", {}), Names());
  EXPECT_EQ(Instructions("f32", {kAvx2}), Names({"vfmadd231ps ymm"}));
  EXPECT_EQ(Instructions("f32", {kAvx2, kAvx512}), Names({"vfmadd231ps ymm", "vfmadd231ps zmm"}));
  EXPECT_EQ(Instructions("int8", {kAvx2}), Names({"vpmaddwd ymm"}));
  EXPECT_EQ(Instructions("int8", {kAvx2, kAvxVnni}), Names({"vpmaddwd ymm", "vpdpbusd ymm"}));
  EXPECT_EQ(Instructions("int8", {kAvx2, kAvx512}), Names({"vpmaddwd ymm", "vpmaddwd zmm"}));
}

TEST(InstructionLoops, OfBf16AreThoseOfF32WithoutInstructionsForIt) {
  EXPECT_EQ(Instructions("bf16", {kAvx2}), Instructions("f32", {kAvx2}));
  EXPECT_EQ(Instructions("bf16", {kAvx2, kAvx512, kAvx512Bf16}), Names({"vdpbf16ps zmm"}));
}

#endif

TEST(InstructionLoops, RunOnThisCpu) {
  shard::ThreadPool pool(1);
  for (const char* dtype : {"f32", "bf16", "int8"}) {
    for (const InstructionLoop& loop : InstructionLoops(dtype, shard::DetectCpuFeatures())) {
      EXPECT_GT(OperationsPerSecond(loop, pool), 0) << loop.instruction;
    }
  }
}

}  // namespace instruction_loops_test
}  // namespace scorecast::bench
