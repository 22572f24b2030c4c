#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// Runs each test of the kernels for every instruction set of this machine.
class KernelsTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  const Kernels& kernels_ = KernelsFor(GetParam());
};

inline std::vector<InstructionSet> InstructionSets() {
  std::vector<InstructionSet> sets;
  for (int set = 0; set <= static_cast<int>(DetectInstructionSet()); ++set) {
    sets.push_back(static_cast<InstructionSet>(set));
  }
  return sets;
}

inline std::string InstructionSetName(const ::testing::TestParamInfo<InstructionSet>& info) {
  return std::string(Name(info.param));
}

}  // namespace scorecast::shard
