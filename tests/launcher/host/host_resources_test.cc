// How ranks divide CPUs, quotas and memory.

#include "launcher/host/host_resources.h"

#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace scorecast::launcher {
namespace host_resources_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

/// A rank that may run on the CPUs [first, first + count), on a host of 64 GiB.
HostResources OnCpus(int first, int count) {
  HostResources resources;
  for (int cpu = first; cpu < first + count; ++cpu) {
    resources.cpus.insert(cpu);
  }
  resources.memory = 64 * kGib;
  return resources;
}

HostResources WithQuota(HostResources resources, double cpus, const std::string& group) {
  resources.limits.cpus.push_back({cpus, group, "id of " + group});
  return resources;
}

HostResources WithMemory(HostResources resources, std::int64_t bytes, const std::string& group) {
  resources.limits.memory.push_back({bytes, group, "id of " + group});
  return resources;
}

/// The share of each of the ranks of one host.
std::vector<RankShare> Divide(const std::vector<HostResources>& ranks) {
  std::vector<std::set<std::string>> names;
  for (const HostResources& rank : ranks) {
    names.push_back(NamesOf(rank));
  }
  std::vector<RankShare> shares;
  for (const HostResources& rank : ranks) {
    shares.push_back(DivideResources(rank, names));
  }
  return shares;
}

std::vector<int> ThreadsOf(const std::vector<HostResources>& ranks) {
  std::vector<int> threads;
  for (const RankShare& share : Divide(ranks)) {
    threads.push_back(share.threads);
  }
  return threads;
}

TEST(DivideResources, AffinityAlone) {
  EXPECT_EQ(ThreadsOf({OnCpus(0, 64)}), (std::vector{64}));
  EXPECT_EQ(ThreadsOf({OnCpus(0, 64), OnCpus(0, 64)}), (std::vector{32, 32}));
  EXPECT_EQ(ThreadsOf({OnCpus(0, 4), OnCpus(4, 4)}), (std::vector{4, 4}));
  EXPECT_EQ(ThreadsOf({OnCpus(0, 3), OnCpus(0, 3)}), (std::vector{1, 1}));
  EXPECT_EQ(ThreadsOf({OnCpus(0, 3), OnCpus(0, 3), OnCpus(0, 3)}), (std::vector{1, 1, 1}));
  // More ranks than CPUs: each has a thread.
  EXPECT_EQ(ThreadsOf({OnCpus(0, 2), OnCpus(0, 2), OnCpus(0, 2)}), (std::vector{1, 1, 1}));
  // The first half belongs to both, the second half to one.
  EXPECT_EQ(ThreadsOf({OnCpus(0, 4), OnCpus(0, 8)}), (std::vector{2, 6}));
}

TEST(DivideResources, AQuotaOfFourCpusOnSixtyFour) {
  const HostResources rank = WithQuota(OnCpus(0, 64), 4, "/job");
  EXPECT_EQ(ThreadsOf({rank}), (std::vector{4}));
  EXPECT_EQ(ThreadsOf({rank, rank}), (std::vector{2, 2}));
  EXPECT_THAT(Divide({rank, rank})[0].threads_reason,
              AllOf(HasSubstr("4 CPUs"), HasSubstr("/job"), HasSubstr("2 ranks")));
}

TEST(DivideResources, AQuotaThatIsShownAs1IsOfOneCpu) {
  for (const double quota : {1.0, 0.9999}) {
    EXPECT_THAT(Divide({WithQuota(OnCpus(0, 64), quota, "/job")})[0].threads_reason,
                AllOf(HasSubstr("1 CPU"), Not(HasSubstr("1 CPUs"))));
  }
}

TEST(DivideResources, RanksBoundToCpusOfTheirOwnUnderOneQuota) {
  EXPECT_EQ(ThreadsOf({WithQuota(OnCpus(0, 8), 6, "/job"), WithQuota(OnCpus(8, 8), 6, "/job")}),
            (std::vector{3, 3}));
}

TEST(DivideResources, GroupsOfTheirOwnBelowOne) {
  const auto rank = [](const std::string& own) {
    return WithQuota(WithQuota(OnCpus(0, 64), 12, "/job"), 5, own);
  };
  EXPECT_EQ(ThreadsOf({rank("/job/a"), rank("/job/b")}), (std::vector{5, 5}));
  EXPECT_EQ(ThreadsOf({rank("/job/a"), rank("/job/b"), rank("/job/c")}), (std::vector{4, 4, 4}));
}

TEST(DivideResources, AQuotaIsRoundedDownButNotToZero) {
  EXPECT_EQ(ThreadsOf({WithQuota(OnCpus(0, 8), 2.9, "/job")}), (std::vector{2}));
  EXPECT_EQ(ThreadsOf({WithQuota(OnCpus(0, 8), 0.25, "/job")}), (std::vector{1}));
}

TEST(DivideResources, AQuotaAboveTheCpusDoesNotMatter) {
  const RankShare share = Divide({WithQuota(OnCpus(0, 2), 16, "/job")})[0];
  EXPECT_EQ(share.threads, 2);
  EXPECT_EQ(share.threads_reason, "2 CPUs");
}

// A rank that is not bound could use the CPUs of the host, or those that Slurm gave to the job.
TEST(DivideResources, Unbound) {
  HostResources bound = OnCpus(0, 1);
  bound.host_cpus = OnCpus(0, 64).cpus;
  EXPECT_EQ(ThreadsOf({bound, bound}), (std::vector{1, 1}));
  EXPECT_EQ(ThreadsOf({Unbound(bound), Unbound(bound)}), (std::vector{32, 32}));
  bound.slurm_cpus = 1;
  bound.slurm_job_cpus = 6;
  EXPECT_EQ(ThreadsOf({Unbound(bound), Unbound(bound)}), (std::vector{3, 3}));
  EXPECT_EQ(Divide({Unbound(bound)})[0].threads_reason, "6 CPUs of the Slurm job");
  EXPECT_DOUBLE_EQ(Divide({bound, bound, bound, bound})[0].cpus, 0.25);
}

TEST(DivideResources, MemoryOfTheHost) {
  const RankShare share = Divide({OnCpus(0, 1), OnCpus(0, 1)})[0];
  EXPECT_EQ(share.memory.bytes, 64 * kGib);
  EXPECT_EQ(share.memory.ranks, 2);
  EXPECT_EQ(MemoryText(share.memory), "64 GiB of this host, shared by 2 ranks");
}

// A rank's share counts: 10 GiB for two ranks are less than 6 GiB for one.
TEST(DivideResources, TheTightestMemoryLimitCounts) {
  const auto rank = [](const std::string& own) {
    return WithMemory(WithMemory(OnCpus(0, 1), 10 * kGib, "/job"), 6 * kGib, own);
  };
  const RankShare both = Divide({rank("/job/a"), rank("/job/b")})[1];
  EXPECT_EQ(both.memory.bytes, 10 * kGib);
  EXPECT_EQ(both.memory.ranks, 2);
  EXPECT_EQ(both.memory.group, "/job");
  const RankShare alone = Divide({rank("/job/a")})[0];
  EXPECT_EQ(alone.memory.bytes, 6 * kGib);
  EXPECT_EQ(alone.memory.ranks, 1);
  EXPECT_EQ(MemoryText(alone.memory), "6 GiB of control group /job/a");
}

TEST(DivideResources, AMemoryLimitAboveTheHostsDoesNotMatter) {
  const RankShare share = Divide({WithMemory(OnCpus(0, 1), 9223372036854771712, "/")})[0];
  EXPECT_EQ(share.memory.bytes, 64 * kGib);
  EXPECT_EQ(share.memory.group, "");
}

TEST(DetectHostResources, ThisProcess) {
  const HostResources here = DetectHostResources();
  EXPECT_FALSE(here.cpus.empty());
  EXPECT_GT(here.memory, 0);
}

// A process that is bound to one CPU still sees the others that it could have.
TEST(DetectHostResources, BoundToOneCpu) {
  const HostResources before = DetectHostResources();
  std::thread bound([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(*before.cpus.begin()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    const HostResources here = DetectHostResources();
    EXPECT_EQ(here.cpus, std::set{*before.cpus.begin()});
    EXPECT_EQ(here.host_cpus, before.host_cpus);
  });
  bound.join();
}

}  // namespace host_resources_test
}  // namespace scorecast::launcher
