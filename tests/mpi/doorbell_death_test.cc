// Kills each side of a doorbell at each step of its life. The whole job must end, name the dead
// rank, and leave no files behind.

#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace doorbell_death_test {

constexpr int kRanks = 3;

/// How the surviving ranks end.
enum class End {
  kMpirun,    ///< mpirun kills them, because the doorbell is not connected yet.
  kDoorbell,  ///< Each ends itself when its doorbell connection closes.
  kOwn,       ///< Normally, because their work is done.
};

struct Step {
  std::string name;
  End end;
};

void PrintTo(const Step& step, std::ostream* out) { *out << step.name; }

const std::vector<Step> kSteps = {
    {"before_listening", End::kMpirun},
    {"listening", End::kMpirun},
    {"half_a_hello", End::kMpirun},
    {"after_hello", End::kMpirun},
    {"before_first_ring", End::kDoorbell},
    {"idle", End::kDoorbell},
    {"after_ring", End::kDoorbell},
    {"in_pass", End::kDoorbell},
    {"last_ring", End::kOwn},
};

/// Seconds between mpirun's SIGTERM, which the ranks ignore, and its SIGKILL.
const std::map<End, std::string> kMpirunWaits = {
    {End::kMpirun, "0"}, {End::kDoorbell, "2"}, {End::kOwn, "1"}};

/// The program whose ranks die. It is built next to this test.
std::filesystem::path Steps() {
  return std::filesystem::canonical("/proc/self/exe").replace_filename("doorbell_steps");
}

class DoorbellDeath : public ::testing::TestWithParam<std::tuple<Step, int>> {};

TEST_P(DoorbellDeath, EndsTheJob) {
  const auto& [step, victim] = GetParam();
  const std::filesystem::path shared_memory = NewDirectory();
  Command command;
  command.arguments = {SCORECAST_MPIEXEC, "--oversubscribe", "--bind-to", "none",
                       // Not /dev/shm, because other programs have files there.
                       "--mca", "btl_vader_backing_directory", shared_memory, "--mca",
                       "odls_base_sigkill_timeout", kMpirunWaits.at(step.end), "-n",
                       std::to_string(kRanks), Steps(), step.name, std::to_string(victim)};
  command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  Process job(command);
  // Wait returns when every process that holds the job's output has ended.
  const ProcessResult result = job.Wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  if (step.end == End::kDoorbell) {
    EXPECT_THAT(result.err, ::testing::HasSubstr("scorecast: rank " + std::to_string(victim) +
                                                 " is gone: the job ends\n"));
  } else {
    EXPECT_THAT(result.err, ::testing::ContainsRegex("rank " + std::to_string(victim) +
                                                     " .*exited on signal 9"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(shared_memory));
}

INSTANTIATE_TEST_SUITE_P(All, DoorbellDeath,
                         ::testing::Combine(::testing::ValuesIn(kSteps), ::testing::Values(0, 1)),
                         [](const ::testing::TestParamInfo<DoorbellDeath::ParamType>& param) {
                           return std::get<0>(param.param).name + "_of_rank_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace doorbell_death_test
}  // namespace scorecast::testing
