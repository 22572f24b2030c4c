// `scorecast supervise`: a service comes back after kill -9 of any of its processes, new clients
// wait meanwhile, and the bits of its scores are the same. It drains on SIGTERM, gives up if that
// is hopeless, and leaves nothing.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace supervise_test {

using launcher::Client;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// The promise is two seconds on an idle machine.
constexpr auto kTimeToBeBack = seconds(60);
const std::vector<std::string> kNoFlags;

double SecondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// The launcher of the job that a supervisor runs: its only child. 0 if there is none.
pid_t LauncherOf(const Process& supervisor) {
  const std::vector<pid_t> processes = DescendantsOf(supervisor.pid());
  return processes.empty() ? 0 : processes.front();
}

/// The directory of a job, from the environment of one of its processes.
std::filesystem::path JobDirectoryOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  const std::string name = "SCORECAST_SUPERVISOR=";
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name)) {
      return std::filesystem::path(entry.substr(name.size())).parent_path();
    }
  }
  return {};
}

/// The scores of a request, sent again by a new connection whenever one breaks. Nothing if there is
/// no reply in time.
std::optional<Scores> ScoresWithin(const std::string& address, std::uint64_t number,
                                   seconds limit) {
  const auto deadline = steady_clock::now() + limit;
  while (steady_clock::now() < deadline) {
    try {
      return ScoresOf(Client(address).Call(NumberedRequest(number)));
    } catch (const std::runtime_error&) {
      usleep(10000);
    }
  }
  return std::nullopt;
}

/// Runs a command under a supervisor to its end.
ProcessResult RunSupervised(const Command& command) { return Run(SupervisedCommand(command)); }

TEST(Supervise, AKilledJobComesBackWithTheSameBits) {
  Service service(NumberedCommand(2), kNoFlags);
  const std::optional<Scores> expected = ScoresWithin(service.address(), 5, kTimeToBeBack);
  ASSERT_TRUE(expected);
  std::vector<std::filesystem::path> directories;

  for (const std::string victim : {"rank 0", "rank 1", "mpirun"}) {
    const std::vector<pid_t> ranks = service.Ranks();
    ASSERT_EQ(ranks.size(), 2U) << victim;
    std::vector<pid_t> job = ranks;
    job.push_back(LauncherOf(service.process()));
    ASSERT_GT(job.back(), 0);
    directories.push_back(JobDirectoryOf(ranks[0]));
    ASSERT_TRUE(std::filesystem::exists(directories.back())) << directories.back();
    const auto busy = service.Connect();
    for (std::uint64_t i = 0; i < 10; ++i) {
      busy->Send(HeavyRequest(i));
    }
    busy->Receive();

    const auto killed = steady_clock::now();
    kill(victim == "rank 0" ? job[0] : victim == "rank 1" ? job[1] : job[2], SIGKILL);
    ASSERT_TRUE(Eventually([&] { return !IsRunning(ranks[0]); })) << victim;
    // Rank 0 is gone, but the socket still listens: this connection waits for the next rank 0.
    Client waiting(service.address());
    EXPECT_EQ(ScoresOf(waiting.Call(NumberedRequest(5))), *expected) << victim;
    std::cout << victim << " killed: back after " << SecondsSince(killed) << " s\n";
    EXPECT_EQ(ScoresWithin(service.address(), 5, kTimeToBeBack), expected) << victim;

    EXPECT_THROW(
        {
          for (;;) {
            busy->Receive();
          }
        },
        std::runtime_error)
        << "connections of the old rank 0 are closed";
    for (const pid_t pid : job) {
      EXPECT_FALSE(IsRunning(pid)) << victim << " killed, left: " << pid;
    }
    EXPECT_FALSE(std::filesystem::exists(directories.back())) << victim;
  }

  const std::vector<pid_t> processes = DescendantsOf(service.process().pid());
  const ProcessResult result = service.Drain();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restart 3 of 10"));
  EXPECT_THAT(result.err,
              ContainsRegex("ready again [0-9.]+ s after the fault: [0-9.]+ s until no process of "
                            "the job was left, [0-9.]+ s of delay, [0-9.]+ s of start"));
  for (const pid_t pid : processes) {
    EXPECT_FALSE(IsRunning(pid)) << pid;
  }
  EXPECT_FALSE(std::filesystem::exists(directories.back().parent_path()));
}

TEST(Supervise, SigtermAndSigintLetAcceptedRequestsFinish) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Service service(NumberedCommand(2), kNoFlags);
    const auto client = service.Connect();
    constexpr std::size_t kRequests = 20;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      client->Send(HeavyRequest(i));
    }
    ASSERT_TRUE(Eventually([&] { return HasReadAll(*client); }));

    kill(service.process().pid(), signal);
    std::size_t replies = 0;
    try {
      for (;; ++replies) {
        const v1::Response response = client->Receive();
        EXPECT_TRUE(response.has_score() || response.error().reason() == "draining")
            << response.error().message();
      }
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(replies, kRequests) << "signal " << signal;
    const ProcessResult result = service.process().Wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("stopped"));
    EXPECT_THROW(Client{service.address()}, std::runtime_error) << "nobody listens any more";
  }
}

TEST(Supervise, AConfigurationFaultIsOneLineAndNotTriedAgain) {
  for (const int ranks : {0, 2}) {
    const ProcessResult result = RunSupervised(ScorecastCommand(
        {"serve", "--model", "/nonexistent", "--port", "0", "--http-port", "-1"}, ranks));
    EXPECT_EQ(result.exit_code, 1);
    std::vector<std::string> lines = LinesOf(result.err);
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("scorecast: "); });
    EXPECT_EQ(lines.size(), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr("/nonexistent"));
    EXPECT_THAT(result.err, Not(HasSubstr("restart")));
    if (ranks == 0) {
      EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
    }
  }
}

TEST(Supervise, AnAddressThatIsTakenIsAFaultOfTheJob) {
  const Service other(NumberedCommand(0));
  const std::string port = other.address().substr(other.address().find(':') + 1);
  const ProcessResult result = RunSupervised(ScorecastCommand(
      {"serve", "--model", NumberedCommand(0).model, "--port", port, "--http-port", "-1"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("scorecast: cannot listen on 127.0.0.1:" + port));
}

TEST(Supervise, GivesUpAfterTheLastRestart) {
  Service service(NumberedCommand(0), std::vector<std::string>{"--max-restarts", "1"});
  for (int kills = 1; kills <= 2; ++kills) {
    ASSERT_TRUE(ScoresWithin(service.address(), 1, kTimeToBeBack));
    const std::vector<pid_t> job = DescendantsOf(service.process().pid());
    ASSERT_EQ(job.size(), 1U);
    kill(job[0], SIGKILL);
    EXPECT_TRUE(Eventually([&] { return !IsRunning(job[0]); }));
  }
  const ProcessResult result = service.process().Wait();
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  EXPECT_THAT(result.err, HasSubstr("restart 1 of 1"));
  EXPECT_THAT(result.err, HasSubstr("no further restart after 1"));
}

TEST(Supervise, ALauncherThatStartsNoRanksAgainIsNamedAndIsAFault) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("scorecast_supervise_" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  // Kills its first job when that is ready. The second job ends with 0 as soon as the supervisor's
  // log says that it waits for this job.
  const std::string launcher =
      "cd \"$0\"\n"
      "if [ -e first ]; then until grep -q 'has waited' supervise; do sleep 0.1; done; exit 0; fi\n"
      "touch first\n"
      "\"$@\" 2> log & until grep -q ready: log; do sleep 0.1; done\n"
      "kill -KILL $!; wait $!";
  Command command = ScorecastCommand(
      {"serve", "--model", NumberedCommand(0).model, "--port", "0", "--http-port", "-1"});
  command.arguments.insert(command.arguments.begin(), {"sh", "-c", launcher, directory.string()});
  command = SupervisedCommand(command, {"--max-restarts", "1"});
  command.arguments.insert(command.arguments.begin(),
                           {"sh", "-c", "exec \"$@\" 2> \"$0\"", directory / "supervise"});
  EXPECT_EQ(testing::Run(command).exit_code, 70);
  const std::string log = ReadFile(directory / "supervise");
  EXPECT_THAT(log, HasSubstr("the job ended with exit code 137; restart 1 of 1"));
  EXPECT_THAT(log, ContainsRegex("has waited [0-9.]+ s for the launcher [0-9]+ .sh, state .. to "
                                 "start rank 0"));
  EXPECT_THAT(log, HasSubstr("the job ended with exit code 70; no further restart"));
  std::filesystem::remove_all(directory);
}

TEST(Supervise, ACommandThatCannotRunIsOneLine) {
  Command command;
  command.arguments = {"/nonexistent/mpirun"};
  const ProcessResult result = RunSupervised(command);
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_THAT(result.err, HasSubstr("scorecast: cannot run /nonexistent/mpirun: No such file"));

  command.arguments.clear();
  const ProcessResult none = RunSupervised(command);
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("supervise needs the command to run behind --"));
}

TEST(Supervise, ASignalDuringTheStartEndsIt) {
  Command command = SupervisedCommand({{"sleep", "1000"}, {}});
  Process supervisor(command);
  ASSERT_TRUE(Eventually([&] { return !DescendantsOf(supervisor.pid()).empty(); }));
  kill(supervisor.pid(), SIGTERM);
  EXPECT_EQ(supervisor.Wait().exit_code, 0);
}

TEST(Supervise, AJobWhoseSupervisorIsKilledDrains) {
  Service service(NumberedCommand(2), kNoFlags);
  const std::vector<pid_t> ranks = service.Ranks();
  ASSERT_EQ(ranks.size(), 2U);
  const pid_t launcher = LauncherOf(service.process());
  const std::filesystem::path directory = JobDirectoryOf(ranks[0]).parent_path();
  const auto client = service.Connect();
  client->Send(HeavyRequest(1));
  ASSERT_TRUE(Eventually([&] { return HasReadAll(*client); }));

  kill(service.process().pid(), SIGKILL);
  EXPECT_TRUE(client->Receive().has_score());
  for (const pid_t pid : {ranks[0], ranks[1], launcher}) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); })) << pid;
  }
  service.process().Wait();
  // The next supervisor removes what this one left.
  RunSupervised({{"true"}, {}});
  EXPECT_FALSE(std::filesystem::exists(directory));
}

/// `command` with a listening socket as systemd passes it.
Command WithSocketOfSystemd(Command command, int socket) {
  std::vector<std::string> arguments = {
      "sh", "-c",
      "exec 3<&" + std::to_string(socket) +
          R"(; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=scorecast.socket; exec "$@")",
      "sh"};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  command.arguments = std::move(arguments);
  return command;
}

TEST(SystemdSocket, IsServedAloneAndUnderASupervisor) {
  for (const bool is_supervised : {false, true}) {
    const int listening = coordinator::OpenListeningSocket("127.0.0.1", 0);
    // The descriptor has one digit, and programs inherit it.
    const int inherited = fcntl(listening, F_DUPFD, 3);
    ASSERT_LE(inherited, 9);
    Command command = ScorecastCommand(
        {"serve", "--model", NumberedCommand(0).model, "--http-port", "-1"}, is_supervised ? 2 : 0);
    if (is_supervised) {
      command = SupervisedCommand(command);
    }
    Process process(WithSocketOfSystemd(command, inherited));
    close(inherited);
    const std::string ready = "ready: requests on ";
    std::string line = process.ErrorLineWith(ready);
    ASSERT_NE(line, "") << process.error_text();
    const std::size_t begin = line.find(ready) + ready.size();
    const std::string address = line.substr(begin, line.find(" (host ") - begin);
    EXPECT_THAT(address, HasSubstr("127.0.0.1:"));
    EXPECT_THAT(address, Not(HasSubstr(":7400")));
    EXPECT_TRUE(ScoresWithin(address, 1, kTimeToBeBack));
    kill(process.pid(), SIGTERM);
    EXPECT_EQ(process.Wait().exit_code, 0);
    close(listening);
  }
}

}  // namespace supervise_test
}  // namespace scorecast::testing
