// kill -9 of a rank under load: the job ends at once and standard error names the rank. No process,
// no shared memory and no directory of Open MPI is left. If mpirun is killed, too, the shared
// memory stays until the next job starts.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_death_test {

using std::chrono::steady_clock;

constexpr int kRanks = 3;

/// The time that is promised for an idle machine.
constexpr std::chrono::seconds kTimeToBeGone{2};

bool HasStrictTimes() {
  const char* strict = std::getenv("SCORECAST_STRICT_TIMES");
  return strict != nullptr && std::string(strict) == "1";
}

/// The ranks' shared files, and Open MPI's session directory, whose name has mpirun's pid.
std::set<std::filesystem::path> TracesOf(pid_t mpirun, const std::vector<pid_t>& ranks) {
  std::set<std::filesystem::path> traces;
  for (const pid_t rank : ranks) {
    const std::vector<std::filesystem::path> files = SharedFilesOf(rank);
    traces.insert(files.begin(), files.end());
  }
  std::error_code gone;
  for (const auto& user :
       std::filesystem::directory_iterator(std::filesystem::temp_directory_path(), gone)) {
    if (user.path().filename().string().starts_with("ompi.")) {
      const std::filesystem::path session = user.path() / ("pid." + std::to_string(mpirun));
      if (std::filesystem::exists(session)) {
        traces.insert(session);
      }
    }
  }
  return traces;
}

class ServeDeath : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ServeDeath, OfARankEndsTheJobAndLeavesNothing) {
  Service service(NumberedCommand(kRanks));
  const auto client = service.Connect();
  for (std::uint64_t i = 0; i < 100; ++i) {
    client->Send(HeavyRequest(i));
  }
  client->Receive();  // The service is computing, and more requests are queued.

  const std::vector<pid_t> ranks = service.Ranks();
  ASSERT_EQ(ranks.size(), std::size_t{kRanks});
  const std::vector<pid_t> processes = DescendantsOf(service.process().pid());
  const auto traces = TracesOf(service.process().pid(), ranks);
  EXPECT_GE(traces.size(), ranks.size() + 1) << "the job has files that it could leave behind";

  const auto killed = steady_clock::now();
  kill(ranks[GetParam()], SIGKILL);
  const ProcessResult result = service.process().Wait();
  for (const pid_t pid : processes) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); })) << ProgramOf(pid) << " " << pid;
  }
  const auto took = steady_clock::now() - killed;
  std::cout << "rank " << GetParam() << " killed: the job was gone after "
            << std::chrono::duration<double>(took).count() << " s\n";

  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  if (HasStrictTimes()) {
    EXPECT_LT(took, kTimeToBeGone);
  }
  EXPECT_THAT(result.err, ::testing::HasSubstr("rank " + std::to_string(GetParam()) + " is gone"));
  EXPECT_THROW(
      {
        for (;;) {
          client->Receive();
        }
      },
      std::runtime_error)
      << "the client's connection is closed";
  for (const std::filesystem::path& trace : traces) {
    EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(trace); })) << trace << " is left";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ServeDeath, ::testing::Values(0, 1, 2));

// Other tests rely on this: a job that a Process object ends leaves nothing either.
TEST(TestsEnd, OfAJobLeavesNothing) {
  std::set<std::filesystem::path> traces;
  {
    Process process(ScorecastCommand(
        {"serve", "--model", NumberedCommand(2).model, "--port", "0", "--http-port", "-1"}, 2));
    ASSERT_NE(process.ErrorLineWith("ready"), "");
    traces = TracesOf(process.pid(), DescendantsOf(process.pid()));
    EXPECT_GE(traces.size(), 3U);
  }
  for (const std::filesystem::path& trace : traces) {
    EXPECT_FALSE(std::filesystem::exists(trace)) << trace << " is left";
  }
}

TEST(ServeDeathOfAllProcesses, LeavesSharedMemoryThatTheNextStartRemoves) {
  const std::filesystem::path directory = NewDirectory();
  const std::filesystem::path segments = directory / "segments";
  std::filesystem::create_directory(segments);
  const auto with_own_files = [&](Command command) {
    for (const auto& [variable, value] : {std::pair("TMPDIR", directory),
                                          {"OMPI_MCA_btl_vader_backing_directory", segments},
                                          {"OMPI_MCA_osc_sm_backing_directory", segments}}) {
      command.environment.emplace_back(variable, value);
    }
    return command;
  };
  {
    Process process(with_own_files(ScorecastCommand(
        {"serve", "--model", NumberedCommand(2).model, "--port", "0", "--http-port", "-1"}, 2)));
    ASSERT_NE(process.ErrorLineWith("ready"), "");
    const std::vector<pid_t> ranks = RanksOf(process.pid());
    ASSERT_EQ(ranks.size(), 2U);
    for (const pid_t rank : ranks) {
      kill(rank, SIGSTOP);  // So that it cannot remove its file.
    }
    kill(process.pid(), SIGKILL);
    for (const pid_t rank : ranks) {
      kill(rank, SIGKILL);
    }
    process.Wait();
  }
  int left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(segments)) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::StartsWith("vader_segment."));
    // Younger files stay.
    std::filesystem::last_write_time(
        entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    ++left;
  }
  ASSERT_EQ(left, 2);

  const ProcessResult next = testing::Run(with_own_files(ScorecastCommand(
      {"batch", "--model", "/nonexistent", "--input", "/dev/null", "--output", "-"}, 0)));
  EXPECT_THAT(next.err, ::testing::HasSubstr("removed 2 files with "));
  EXPECT_TRUE(std::filesystem::is_empty(segments));
}

}  // namespace serve_death_test
}  // namespace scorecast::testing
