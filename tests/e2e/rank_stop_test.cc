// A rank that is stopped, or whose computing thread is stuck, ends the job with a line that names
// it. A rank that comes back in time harms nothing. To run each test 20 times:
// e2e_rank_stop_test --gtest_repeat=20

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace rank_stop_test {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kRanks = 3;
/// The documented exit code of a job that the watchdog ends.
constexpr int kWatchdogExitCode = 75;
/// The same for a job whose ranks do not end after the work.
constexpr int kRanksStuckExitCode = 72;

std::string HostName() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  return name.c_str();
}

std::string NameOf(std::size_t rank) {
  return "rank " + std::to_string(rank) + " (host " + HostName() + ")";
}

/// A service that is computing and has more work waiting.
class BusyService {
 public:
  explicit BusyService(const std::vector<std::string>& flags = {"--rank-timeout", "3"})
      : service_(NumberedCommand(kRanks, flags)) {
    client_ = service_.Connect();
    for (std::uint64_t i = 0; i < 100; ++i) {
      client_->Send(HeavyRequest(i));
    }
    client_->Receive();
  }

  Service& service() { return service_; }
  pid_t rank(std::size_t rank) const { return service_.Ranks().at(rank); }

  /// Keeps the same amount of work waiting until `stop`, or until the service ends.
  void StayBusy(const std::stop_token& stop) {
    try {
      for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
        client_->Receive();
        client_->Send(HeavyRequest(i));
      }
    } catch (const std::runtime_error&) {  // The connection has ended.
    }
  }

 private:
  Service service_;
  std::unique_ptr<launcher::Client> client_;
};

void ExpectEnded(Process& job, const std::vector<pid_t>& processes, const std::string& line) {
  const ProcessResult result = job.Wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, kWatchdogExitCode);
  EXPECT_THAT(result.err, HasSubstr("scorecast: " + line));
  for (const pid_t pid : processes) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); })) << ProgramOf(pid) << " " << pid;
  }
}

class RankStop : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RankStop, InAPassEndsTheJob) {
  BusyService busy;
  const std::vector<pid_t> processes = DescendantsOf(busy.service().process().pid());
  kill(busy.rank(GetParam()), SIGSTOP);
  ExpectEnded(busy.service().process(), processes, NameOf(GetParam()) + " has been silent for");
}

INSTANTIATE_TEST_SUITE_P(All, RankStop, ::testing::Values(0, 2));

TEST(RankStop, OfAnIdleServiceEndsTheJob) {
  Service service(NumberedCommand(2, {"--rank-timeout", "3"}));
  const std::vector<pid_t> processes = DescendantsOf(service.process().pid());
  kill(service.Ranks().at(1), SIGSTOP);
  ExpectEnded(service.process(), processes, NameOf(1) + " has been silent for");
}

// When the job ends, the watchdog no longer looks, so the end has a time limit of its own.
TEST(RankStop, AtTheEndOfABatchEndsTheJob) {
  BatchCommand command = NumberedCommand(2, {"--rank-timeout", "5"});
  std::vector<std::string> arguments = {
      "batch", "--model", command.model.string(), "--input", "-", "--output", "-"};
  const std::vector<std::string> flags = command.AllFlags();
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  Process batch(ScorecastCommand(arguments, command.ranks));
  batch.Send(ScoreLine("a", NumberedBody(5)) + "\n");
  ASSERT_THAT(batch.ReadLine(), HasSubstr("\"a\"")) << batch.error_text();
  const std::vector<pid_t> ranks = RanksOf(batch.pid());
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks[1], SIGSTOP);
  batch.CloseInput();
  const ProcessResult result = batch.Wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, kRanksStuckExitCode);
  EXPECT_THAT(result.err, HasSubstr("the other ranks do not end: leaving them"));
  for (const pid_t pid : ranks) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); })) << ProgramOf(pid) << " " << pid;
  }
}

// Only the computing thread is stopped, so that the rank still reports.
TEST(StuckRank, EndsTheJob) {
  BusyService busy;
  const std::vector<pid_t> processes = DescendantsOf(busy.service().process().pid());
  const pid_t victim = busy.rank(1);
  if (ptrace(PTRACE_SEIZE, victim, nullptr, nullptr) != 0) {
    GTEST_SKIP() << "no thread may be traced here: " << std::generic_category().message(errno);
  }
  ptrace(PTRACE_INTERRUPT, victim, nullptr, nullptr);
  int status = 0;
  ASSERT_EQ(waitpid(victim, &status, __WALL), victim);
  EXPECT_TRUE(WIFSTOPPED(status));
  Process& job = busy.service().process();
  const std::string line = job.ErrorLineWith(" is stuck");
  EXPECT_THAT(line, ContainsRegex("scorecast: pass [0-9]+ is stuck: no rank has advanced for .*" +
                                  std::string("rank 1 ")));
  EXPECT_EQ(waitpid(victim, &status, __WALL), victim) << "its end is told to its tracer first";
  ExpectEnded(job, processes, "pass ");
}

// The rank runs for a tenth of the time.
TEST(SlowRank, IsNamed) {
  BusyService busy({"--rank-timeout", "60"});
  const pid_t rank = busy.rank(1);
  std::jthread throttle([rank](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      kill(rank, SIGSTOP);
      usleep(90'000);
      kill(rank, SIGCONT);
      usleep(10'000);
    }
  });
  // However fast the machine is, the work does not end before the rank is named.
  const std::jthread work([&busy](const std::stop_token& stop) { busy.StayBusy(stop); });
  EXPECT_NE(busy.service().process().ErrorLineWith("warning " + NameOf(1) +
                                                   " is slow: its computing thread gets "),
            "");
}

TEST(StoppedRanks, ThatComeBackInTimeHarmNothing) {
  Service service(NumberedCommand(kRanks, {"--rank-timeout", "15"}));
  const auto client = service.Connect();
  client->Send(HeavyRequest(0));
  const Scores expected = ScoresOf(client->Receive());
  for (const pid_t rank : service.Ranks()) {
    constexpr std::uint64_t kRequests = 6;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      client->Send(HeavyRequest(i));
    }
    const Scores first = ScoresOf(client->Receive());
    kill(rank, SIGSTOP);
    sleep(1);
    kill(rank, SIGCONT);
    EXPECT_EQ(first, expected);
    for (std::uint64_t i = 1; i < kRequests; ++i) {
      EXPECT_EQ(ScoresOf(client->Receive()), expected);
    }
  }
  EXPECT_EQ(service.Drain().exit_code, 0);
}

}  // namespace rank_stop_test
}  // namespace scorecast::testing
