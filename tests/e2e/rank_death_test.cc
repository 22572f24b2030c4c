// If a rank of a batch job dies, the job ends with a message that names the rank, and no process is
// left.

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/models.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace rank_death_test {

class RankDeath : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RankDeath, EndsTheJob) {
  constexpr int kRanks = 3;
  const std::filesystem::path model = MakeModel("");
  const std::filesystem::path dir = NewDirectory();
  const nlohmann::json request = HeavyBody();
  std::string input;
  for (int i = 0; i < 2000; ++i) {
    input += ScoreLine(std::to_string(i), request);
  }
  WriteFile(dir / "in", input);
  Process job(ScorecastCommand({"batch", "--model", model, "--input", dir / "in", "--output",
                                dir / "out", "--multi-item-scoring-delimiter", "7"},
                               kRanks));
  ASSERT_TRUE(Eventually([&] {
    return std::filesystem::exists(dir / "out") && std::filesystem::file_size(dir / "out") > 0;
  })) << "the run has not begun";

  const std::vector<pid_t> processes = DescendantsOf(job.pid());
  const std::vector<pid_t> ranks = RanksOf(job.pid());
  ASSERT_EQ(ranks.size(), std::size_t{kRanks});
  kill(ranks[GetParam()], SIGKILL);

  const ProcessResult result = job.Wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, ::testing::ContainsRegex("rank " + std::to_string(GetParam()) +
                                                   " (is gone|.*exited on signal 9)"));
  for (const pid_t pid : processes) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); })) << ProgramOf(pid) << " " << pid;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RankDeath, ::testing::Values(0, 2));

}  // namespace rank_death_test
}  // namespace scorecast::testing
