// NUMA nodes of CPUs, on hosts that hwloc describes.

#include "launcher/host/numa_nodes.h"

#include <set>

#include <gtest/gtest.h>

#include "launcher/host/host_resources.h"

namespace scorecast::launcher {
namespace numa_nodes_test {

constexpr const char* kTwoNodes = "numa:2 core:4 pu:1";

TEST(CountNumaNodes, OfTheCpus) {
  EXPECT_EQ(CountNumaNodes({0}, kTwoNodes), 1);
  EXPECT_EQ(CountNumaNodes({0, 1, 2, 3}, kTwoNodes), 1);
  EXPECT_EQ(CountNumaNodes({4, 7}, kTwoNodes), 1);
  EXPECT_EQ(CountNumaNodes({3, 4}, kTwoNodes), 2);
  EXPECT_EQ(CountNumaNodes({0, 1, 2, 3, 4, 5, 6, 7}, kTwoNodes), 2);
}

TEST(CountNumaNodes, SeveralSockets) {
  constexpr const char* kHost = "pack:2 numa:4 core:2 pu:1";
  std::set<int> all;
  for (int cpu = 0; cpu < 16; ++cpu) {
    all.insert(cpu);
  }
  EXPECT_EQ(CountNumaNodes(all, kHost), 8);
}

// Fast and slow memory beside the same CPUs.
TEST(CountNumaNodes, TwoMemoriesOfOneSocket) {
  EXPECT_EQ(CountNumaNodes({0, 1, 2, 3}, "[numa] [numa] core:4 pu:1"), 1);
  EXPECT_EQ(CountNumaNodes({0, 1, 2, 3}, "pack:2 [numa] [numa] core:2 pu:1"), 2);
}

TEST(CountNumaNodes, WhatIsNotKnownIsOne) {
  EXPECT_EQ(CountNumaNodes({0}, "no such notation"), 1);
  EXPECT_EQ(CountNumaNodes({99}, kTwoNodes), 1);
  EXPECT_EQ(CountNumaNodes({}, kTwoNodes), 1);
}

TEST(CountNumaNodes, ThisHost) {
  const HostResources here = DetectHostResources();
  EXPECT_EQ(CountNumaNodes({*here.cpus.begin()}), 1);
  EXPECT_GE(CountNumaNodes(here.cpus), 1);
}

}  // namespace numa_nodes_test
}  // namespace scorecast::launcher
