// What the variables of mpirun and srun say, and which ranks give up their CPU while they wait.

#include "launcher/host/rank_placement.h"

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace rank_placement_test {

Environment Of(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

RankPlacement Read(const std::map<std::string, std::string>& variables) {
  return ReadRankPlacement(Of(variables));
}

TEST(RankPlacement, Alone) {
  const RankPlacement placement = Read({});
  EXPECT_EQ(placement.ranks_on_host, 1);
  EXPECT_EQ(placement.binder, Binder::kNobody);
  EXPECT_FALSE(placement.has_cpus_per_task);
}

TEST(RankPlacement, Mpirun) {
  const std::map<std::string, std::string> unbound = {{"OMPI_COMM_WORLD_SIZE", "8"},
                                                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
  EXPECT_EQ(Read(unbound).ranks_on_host, 4);
  EXPECT_EQ(Read(unbound).binder, Binder::kNobody);
  auto bound = unbound;
  bound["OMPI_MCA_orte_bound_at_launch"] = "1";
  EXPECT_EQ(Read(bound).binder, Binder::kMpirun);
  // mpirun in a job of Slurm: the step belongs to mpirun's daemons.
  bound.insert({{"SLURM_STEP_ID", "0"},
                {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                {"SLURM_NODEID", "1"},
                {"PMIX_RANK", "5"}});
  EXPECT_EQ(Read(bound).ranks_on_host, 4);
  EXPECT_EQ(Read(bound).binder, Binder::kMpirun);
}

/// The ranks on a node of a step whose tasks are `list`.
int RanksOnNode(const std::string& list, const std::string& node) {
  return Read({{"PMIX_RANK", "0"},
               {"SLURM_STEP_ID", "0"},
               {"SLURM_STEP_TASKS_PER_NODE", list},
               {"SLURM_NODEID", node}})
      .ranks_on_host;
}

TEST(RankPlacement, Srun) {
  EXPECT_EQ(RanksOnNode("8", "0"), 8);
  EXPECT_EQ(RanksOnNode("4(x2),3", "0"), 4);
  EXPECT_EQ(RanksOnNode("4(x2),3", "1"), 4);
  EXPECT_EQ(RanksOnNode("4(x2),3", "2"), 3);
  EXPECT_EQ(RanksOnNode("2,16(x10)", "10"), 16);
}

TEST(RankPlacement, VariablesThatAreNotAsExpected) {
  for (const char* list :
       {"", ",", "x", "4(", "4(x", "4(x2", "4(xx)", "(x2)", "-4", "4;4", "99999999999"}) {
    EXPECT_EQ(RanksOnNode(list, "1"), 1) << list;
  }
  EXPECT_EQ(RanksOnNode("4(x2),3", "3"), 1);
  EXPECT_EQ(RanksOnNode("4(x2),3", "one"), 1);
  EXPECT_EQ(
      Read({{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "0"}}).ranks_on_host, 1);
}

// Variables as in steps of Slurm 22.05, and under mpirun in one of its jobs.
TEST(SlurmCpus, OfStepAndJob) {
  const std::map<std::string, std::string> exact = {
      {"SLURM_CPUS_ON_NODE", "1"}, {"SLURM_JOB_CPUS_PER_NODE", "2(x2),8"}, {"SLURM_NODEID", "2"}};
  EXPECT_EQ(SlurmStepCpus(Of(exact)), 1);
  EXPECT_EQ(SlurmJobCpus(Of(exact)), 8);
  auto by_mpirun = exact;
  by_mpirun["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_EQ(SlurmJobCpus(Of(by_mpirun)), 1);
  const std::map<std::string, std::string> whole = {{"SLURM_CPUS_ON_NODE", "2"}};
  EXPECT_EQ(SlurmJobCpus(Of(whole)), 2);
  EXPECT_EQ(SlurmStepCpus(Of({})), std::nullopt);
  EXPECT_EQ(SlurmJobCpus(Of({})), std::nullopt);
  EXPECT_EQ(SlurmStepCpus(Of({{"SLURM_CPUS_ON_NODE", "0"}})), std::nullopt);
}

/// A host of some CPUs, the first `allowed` of which the rank may run on.
HostResources Host(int cpus, int allowed) {
  HostResources resources;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    resources.host_cpus.insert(cpu);
    if (cpu < allowed) {
      resources.cpus.insert(cpu);
    }
  }
  return resources;
}

TEST(ShareCpus, Unbound) {
  EXPECT_FALSE(ShareCpus({.ranks_on_host = 2}, Host(2, 2), 1));
  EXPECT_TRUE(ShareCpus({.ranks_on_host = 3}, Host(2, 2), 1));
  EXPECT_TRUE(ShareCpus({.ranks_on_host = 2}, Host(2, 2), 2));
  // mpirun itself was started with taskset.
  EXPECT_TRUE(ShareCpus({.ranks_on_host = 3}, Host(64, 2), 1));
}

TEST(ShareCpus, BoundByTheLauncher) {
  for (const Binder binder : {Binder::kMpirun, Binder::kSrun}) {
    EXPECT_FALSE(ShareCpus({.ranks_on_host = 2, .binder = binder}, Host(2, 1), 1));
    EXPECT_TRUE(ShareCpus({.ranks_on_host = 3, .binder = binder}, Host(2, 1), 1));
    EXPECT_TRUE(ShareCpus({.ranks_on_host = 1, .binder = binder}, Host(64, 1), 2));
    EXPECT_FALSE(ShareCpus({.ranks_on_host = 2, .binder = binder}, Host(64, 32), 32));
  }
}

TEST(ShareCpus, LimitsBesidesTheCpus) {
  HostResources host = Host(64, 64);
  host.slurm_cpus = 4;
  EXPECT_FALSE(ShareCpus({.ranks_on_host = 4}, host, 1));
  EXPECT_TRUE(ShareCpus({.ranks_on_host = 5}, host, 1));
  host.limits.cpus.push_back({1.5, "/job", "id"});
  EXPECT_FALSE(ShareCpus({.ranks_on_host = 1}, host, 1));
  EXPECT_TRUE(ShareCpus({.ranks_on_host = 2}, host, 1));
}

}  // namespace rank_placement_test
}  // namespace scorecast::launcher
