// Which use of a host's CPUs gets a warning, and which flag the warning names.

#include "launcher/host/cpu_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace cpu_use_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Ranks that use all of the 64 CPUs of their host.
HostCpuUse Whole(int ranks) {
  return {.host = "h1",
          .ranks = ranks,
          .threads = 64,
          .cpus = 64,
          .unbound_cpus = 64,
          .online_cpus = 64};
}

/// Ranks of one thread, each bound to a CPU of its own.
HostCpuUse OneCpuARank(int ranks, Binder binder) {
  HostCpuUse use = Whole(ranks);
  use.threads = ranks;
  use.cpus = ranks;
  use.binder = binder;
  return use;
}

TEST(CpuWarning, NoneForAWholeHost) {
  for (const Binder binder : {Binder::kNobody, Binder::kMpirun, Binder::kSrun}) {
    HostCpuUse use = Whole(4);
    use.binder = binder;
    EXPECT_EQ(CpuWarning(use), "");
    use.slurm_cpus = 64;
    EXPECT_EQ(CpuWarning(use), "");
  }
}

TEST(CpuWarning, MpirunBindsEachRankToACore) {
  EXPECT_EQ(CpuWarning(OneCpuARank(2, Binder::kMpirun)),
            "host h1: 2 ranks use 2 of the 64 CPUs, because mpirun binds ranks: give mpirun "
            "--bind-to none, or --map-by numa --bind-to numa");
  EXPECT_THAT(CpuWarning(OneCpuARank(1, Binder::kMpirun)), StartsWith("host h1: 1 rank uses 1 of"));
}

TEST(CpuWarning, SrunBindsEachRankToACore) {
  HostCpuUse use = OneCpuARank(2, Binder::kSrun);
  EXPECT_THAT(CpuWarning(use), EndsWith("give srun --cpus-per-task=32, or --cpu-bind=none"));
  // Slurm gave the job half of the host.
  use.slurm_cpus = 32;
  use.unbound_cpus = 32;
  EXPECT_THAT(CpuWarning(use), EndsWith("give srun --cpus-per-task=16, or --cpu-bind=none"));
}

TEST(CpuWarning, MoreThanHalfIsEnough) {
  EXPECT_NE(CpuWarning(OneCpuARank(32, Binder::kMpirun)), "");
  EXPECT_EQ(CpuWarning(OneCpuARank(33, Binder::kMpirun)), "");
}

TEST(CpuWarning, WhatTheUserChoseIsNoFault) {
  EXPECT_EQ(CpuWarning(OneCpuARank(1, Binder::kNobody)), "");  // taskset
  HostCpuUse use = OneCpuARank(2, Binder::kMpirun);
  use.has_threads_flag = true;
  EXPECT_EQ(CpuWarning(use), "");
}

TEST(CpuWarning, SlurmGaveTheJobFewCpus) {
  HostCpuUse use = OneCpuARank(1, Binder::kSrun);
  use.unbound_cpus = 1;
  use.slurm_cpus = 1;
  EXPECT_EQ(CpuWarning(use),
            "host h1: Slurm gave the job 1 of the 64 CPUs: give sbatch --exclusive, or "
            "--cpus-per-task");
  use.has_cpus_per_task = true;
  EXPECT_EQ(CpuWarning(use), "");
}

TEST(CpuWarning, MoreRanksThanCpus) {
  HostCpuUse use = Whole(8);
  use.threads = 8;
  use.cpus = 2;
  use.unbound_cpus = 2;
  use.online_cpus = 2;
  EXPECT_EQ(CpuWarning(use),
            "host h1: 8 ranks have 8 threads on 2 CPUs, which keep each other waiting: start at "
            "most 2 ranks there");
  // Eight times a quarter of a CPU need not be exactly 2.
  use.cpus = 8 - 1e-9;
  EXPECT_EQ(CpuWarning(use), "");
}

TEST(CpuWarning, MoreThreadsThanCpus) {
  HostCpuUse use = Whole(2);
  use.has_threads_flag = true;
  use.threads = 128;
  EXPECT_THAT(CpuWarning(use), AllOf(HasSubstr("2 ranks have 128 threads on 64 CPUs"),
                                     EndsWith("give --threads 32 or fewer")));
  use = OneCpuARank(1, Binder::kMpirun);
  use.has_threads_flag = true;
  use.threads = 8;
  EXPECT_THAT(CpuWarning(use), AllOf(HasSubstr("1 rank has 8 threads on 1 CPU"),
                                     HasSubstr("--bind-to none"), Not(HasSubstr("--threads"))));
}

TEST(NumaWarning, ARankOnSeveralNodes) {
  HostCpuUse use = Whole(1);
  EXPECT_EQ(NumaWarning(use), "");
  use.numa_nodes = 2;
  EXPECT_THAT(NumaWarning(use), AllOf(HasSubstr("host h1: a rank runs on 2 NUMA nodes"),
                                      EndsWith("by mpirun --map-by numa --bind-to numa")));
  use.binder = Binder::kSrun;
  EXPECT_THAT(NumaWarning(use), EndsWith("by srun --ntasks-per-node=2 --cpus-per-task=32"));
}

}  // namespace cpu_use_test
}  // namespace scorecast::launcher
