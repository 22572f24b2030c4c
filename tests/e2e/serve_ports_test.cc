// Ranks on one host open no ports but those of rank 0 for clients. With one byte to any other port,
// a stranger could stop the service for all clients. Rank 0 takes its ports before the model is
// read.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_ports_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// The ports at which a process listens.
std::vector<unsigned> ListeningPorts(pid_t pid) {
  const std::filesystem::path directory = "/proc/" + std::to_string(pid);
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "fd")) {
    std::error_code gone;
    sockets.insert(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  std::vector<unsigned> ports;
  for (const char* table : {"net/tcp", "net/tcp6"}) {
    std::ifstream file(directory / table);
    for (std::string line; std::getline(file, line);) {
      // "0: ADDRESS:PORT ADDRESS:PORT STATE QUEUES TIMER RETRIES USER TIMEOUT INODE …"
      unsigned port = 0;
      unsigned state = 0;
      unsigned long inode = 0;
      if (std::sscanf(line.c_str(), "%*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*d %*d %lu",
                      &port, &state, &inode) != 3) {
        continue;
      }
      constexpr unsigned kListening = 10;
      if (state == kListening && sockets.contains("socket:[" + std::to_string(inode) + "]")) {
        ports.push_back(port);
      }
    }
  }
  return ports;
}

unsigned PortOf(const std::string& address) {
  return static_cast<unsigned>(std::stoi(address.substr(address.rfind(':') + 1)));
}

auto ArePortsForClients(const Service& service) {
  return UnorderedElementsAre(PortOf(service.address()), PortOf(service.http_address()));
}

TEST(ServePorts, RanksUnderMpirun) {
  Service service(NumberedCommand(2));
  const std::vector<pid_t> ranks = service.Ranks();
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_THAT(ListeningPorts(ranks[0]), ArePortsForClients(service));
  EXPECT_THAT(ListeningPorts(ranks[1]), IsEmpty());
}

TEST(ServePorts, Alone) {
  Service service(NumberedCommand(0));
  EXPECT_THAT(ListeningPorts(service.process().pid()), ArePortsForClients(service));
}

TEST(ServePorts, WithoutHttp) {
  Command command = ScorecastCommand(
      {"serve", "--model", NumberedCommand(0).model.string(), "--port", "0", "--http-port", "-1"});
  Process process(command);
  const std::string ready = "ready: requests on ";
  const std::string line = process.ErrorLineWith(ready);
  EXPECT_THAT(ListeningPorts(process.pid()), ElementsAre(PortOf(line)));
}

// A service that reads its model has a socket that does not listen yet.
TEST(ServePorts, AnAddressThatIsTakenIsOneLineBeforeTheModelIsRead) {
  const int taken = coordinator::OpenBoundSocket("127.0.0.1", 0);
  const std::string port = std::to_string(coordinator::BoundPort(taken));
  for (const std::string flag : {"--port", "--http-port"}) {
    const std::string other = flag == "--port" ? "--http-port" : "--port";
    for (const int ranks : {0, 2}) {
      for (const bool is_supervised : {false, true}) {
        Command command = ScorecastCommand(
            {"serve", "--model", NumberedCommand(0).model, flag, port, other, "0"}, ranks);
        if (is_supervised) {
          command = SupervisedCommand(command);
        }
        const ProcessResult result = testing::Run(command);
        EXPECT_EQ(result.exit_code, 1);
        EXPECT_THAT(result.err, HasSubstr("scorecast: cannot listen on 127.0.0.1:" + port +
                                          ": Address already in use\n"));
        EXPECT_THAT(result.err, Not(HasSubstr("weights"))) << "the model was read";
        std::vector<std::string> lines = LinesOf(result.err);
        std::erase_if(lines,
                      [](const std::string& line) { return !line.starts_with("scorecast: "); });
        EXPECT_EQ(lines.size(), 1U) << result.err;
      }
    }
  }
  close(taken);
}

TEST(ServePorts, BothCannotBeTheSame) {
  const int free = coordinator::OpenBoundSocket("127.0.0.1", 0);
  const std::string port = std::to_string(coordinator::BoundPort(free));
  close(free);
  const ProcessResult result = RunScorecast(
      {"serve", "--model", NumberedCommand(0).model, "--port", port, "--http-port", port});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "scorecast: cannot listen on port " + port +
                            " twice: for \"requests\" and for \"http\"\n");
}

}  // namespace serve_ports_test
}  // namespace scorecast::testing
