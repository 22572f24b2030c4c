// What a job says about its use of a host: CPUs that mpirun's binding leaves idle, ranks that share
// CPUs, and what was read of the weights.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/host/host_resources.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace host_use_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const launcher::HostResources& Here() {
  static const launcher::HostResources here = launcher::DetectHostResources();
  return here;
}

class HostUse : public ::testing::Test {
 protected:
  /// Standard error of a batch of one request, with these words before the program.
  std::string LogOf(const std::vector<std::string>& launcher,
                    const std::vector<std::string>& flags = {}) const {
    const std::filesystem::path input = NewDirectory() / "in";
    WriteFile(input, ScoreLine("a", {{"query", {1}}, {"items", {{2}}}, {"label_token_ids", {3}}}));
    Command command = ScorecastCommand(
        {"batch", "--model", model_, "--input", input, "--output", NewDirectory() / "out"});
    command.arguments.insert(command.arguments.begin(), launcher.begin(), launcher.end());
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                           {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    const ProcessResult result = ::scorecast::testing::Run(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  }

  /// The same with `ranks` under an mpirun that may use one CPU, as if the host had no other.
  /// `options` are options of mpirun. With some of them, Open MPI prints the parameters that are
  /// set in the environment of rank 0.
  std::string LogOnOneCpu(int ranks, const std::vector<std::string>& options = {}) const {
    std::vector<std::string> launcher = {"taskset", "-c", std::to_string(*Here().cpus.begin())};
    const std::string number = std::to_string(ranks);
    launcher.insert(launcher.end(),
                    {SCORECAST_MPIEXEC, "--host", "localhost:" + number, "-n", number, "--bind-to",
                     "none", "--mca", "mpi_show_mca_params", "enviro"});
    launcher.insert(launcher.end(), options.begin(), options.end());
    return LogOf(launcher);
  }

  const std::filesystem::path model_ = MakeModel("");
};

TEST_F(HostUse, MpirunBindsARankToACpu) {
  if (Here().cpus.size() < 2 || !Here().limits.cpus.empty()) {
    GTEST_SKIP() << "one CPU, or a quota";
  }
  EXPECT_THAT(LogOf({SCORECAST_MPIEXEC, "-n", "1", "--bind-to", "none"}),
              Not(ContainsRegex("warning host [^ ]+: [0-9]+ rank")));
  const std::vector<std::string> bound = {SCORECAST_MPIEXEC, "-n", "1", "--bind-to", "hwthread"};
  EXPECT_THAT(LogOf(bound),
              ContainsRegex("warning host [^ ]+: 1 rank uses 1 of the [0-9]+ CPUs, "
                            "because mpirun binds ranks: give mpirun --bind-to none"));
  EXPECT_THAT(LogOf(bound, {"--threads", "1"}),
              Not(ContainsRegex("warning host [^ ]+: [0-9]+ rank")));
  // There is no warning, because a user of taskset knows about it.
  EXPECT_THAT(LogOf({"taskset", "-c", std::to_string(*Here().cpus.begin())}),
              Not(ContainsRegex("warning host [^ ]+: [0-9]+ rank")));
}

TEST_F(HostUse, RanksThatShareACpuYieldIt) {
  EXPECT_THAT(
      LogOnOneCpu(2),
      AllOf(HasSubstr("mpi_yield_when_idle=true"),
            ContainsRegex("warning host [^ ]+: 2 ranks have 2 threads on 1 CPU, which keep each "
                          "other waiting: start at most 1 rank there")));
  EXPECT_THAT(LogOnOneCpu(1), AllOf(Not(HasSubstr("mpi_yield_when_idle")),
                                    Not(ContainsRegex("warning host [^ ]+: [0-9]+ rank"))));
}

TEST_F(HostUse, AUsersChoiceCounts) {
  EXPECT_THAT(LogOnOneCpu(2, {"--mca", "mpi_yield_when_idle", "0"}),
              HasSubstr("mpi_yield_when_idle=false"));
}

TEST_F(HostUse, WhatWasReadOfTheWeights) {
  EXPECT_THAT(LogOf({}),
              ContainsRegex("info weights: [0-9.]+ MB of files read and packed in [0-9.]+ s, "
                            "[0-9.]+ GB/s; [0-9.]+ MB came from storage"));
}

}  // namespace host_use_test
}  // namespace scorecast::testing
