#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"

namespace scorecast::shard {

/// The kernel sets that this machine can run.
inline std::vector<KernelSet> UsableKernelSets() {
  std::vector<KernelSet> sets;
  for (const KernelSet& set : KernelSets()) {
    if (DetectCpuFeatures().Contain(set.needs)) {
      sets.push_back(set);
    }
  }
  return sets;
}

/// Runs each test of the kernels for every kernel set that this machine can run.
class KernelsTest : public ::testing::TestWithParam<KernelSet> {
 protected:
  const Kernels& kernels_ = *GetParam().kernels;
};

inline void PrintTo(const KernelSet& set, std::ostream* out) { *out << set.name; }

inline std::string KernelSetName(const ::testing::TestParamInfo<KernelSet>& info) {
  return std::string(info.param.name);
}

}  // namespace scorecast::shard
