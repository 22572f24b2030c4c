// `serve --address-file`: the file is there while the service can be reached, and
// `scorecast score --connect-file` finds the service by it.

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "launcher/address/service_address.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace address_file_test {

using launcher::ServiceAddress;
using nlohmann::json;
using ::testing::HasSubstr;

class AddressFileOfAService : public ::testing::Test {
 protected:
  static BatchCommand With(BatchCommand command, const std::filesystem::path& file) {
    command.flags.insert(command.flags.end(), {"--address-file", file.string()});
    return command;
  }

  ServiceAddress Read() const {
    return ServiceAddress::FromJson(ReadFile(file_)).value_or(ServiceAddress());
  }

  static ProcessResult Score(const std::vector<std::string>& server) {
    std::vector<std::string> arguments = {"score", "--query", "q", "--item", "a", "--label", "b"};
    arguments.insert(arguments.end(), server.begin(), server.end());
    return RunScorecast(arguments);
  }

  const std::filesystem::path file_ = NewDirectory() / "address.json";
};

TEST_F(AddressFileOfAService, IsThereFromReadyToTheDrain) {
  for (const int ranks : {0, 2}) {
    Service service(With(NumberedCommand(ranks), file_));
    const ServiceAddress address = Read();
    EXPECT_EQ(address.requests.ToText(), service.address());
    ASSERT_TRUE(address.http);
    EXPECT_EQ(address.http->ToText(), service.http_address());
    EXPECT_EQ(address.host, launcher::OwnHostName());
    EXPECT_EQ(address.pid, service.Ranks().at(0));
    if (ranks > 0) {
      EXPECT_TRUE(address.job_id);
    } else {
      EXPECT_EQ(address.job_id, launcher::OwnJobId());
    }
    const ProcessResult result = service.Drain();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(" (host " + address.host + ")\n"));
    EXPECT_FALSE(std::filesystem::exists(file_));
  }
}

TEST_F(AddressFileOfAService, HasNoHttpPortWithoutHttp) {
  Process service(ScorecastCommand({"serve", "--model", NumberedCommand(0).model, "--port", "0",
                                    "--http-port", "-1", "--address-file", file_}));
  ASSERT_NE(service.ErrorLineWith("ready: "), "") << service.error_text();
  EXPECT_FALSE(json::parse(ReadFile(file_)).contains("http_port"));
}

TEST_F(AddressFileOfAService, LeadsClientsToEachOfTwoServices) {
  const std::filesystem::path other_file = NewDirectory() / "address.json";
  const Service one(With(NumberedCommand(0), file_));
  const Service other(With(NumberedCommand(0), other_file));
  EXPECT_NE(one.address(), other.address());
  for (const auto& [service, file] : {std::pair{&one, file_}, {&other, other_file}}) {
    const ProcessResult by_file = Score({"--connect-file", file});
    const ProcessResult by_address = Score({"--connect", service->address()});
    EXPECT_EQ(by_file.exit_code, by_address.exit_code);
    EXPECT_EQ(by_file.out, by_address.out);
    EXPECT_EQ(by_file.err, by_address.err);
    EXPECT_EQ(by_file.err.find("cannot"), std::string::npos) << by_file.err;
  }
}

TEST_F(AddressFileOfAService, AClientNeedsOneLocation) {
  for (const std::vector<std::string>& server : std::vector<std::vector<std::string>>{
           {}, {"--connect", "127.0.0.1:1", "--connect-file", file_}}) {
    const ProcessResult result = Score(server);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr("--connect-file"));
  }
}

TEST_F(AddressFileOfAService, IsRemovedIfAnotherRankDies) {
  Service service(With(NumberedCommand(2), file_));
  kill(service.Ranks().at(1), SIGKILL);
  EXPECT_NE(service.process().Wait().exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(AddressFileOfAService, OfAKilledServiceIsNamedByClientsAndRemovedByTheNext) {
  {
    Service service(With(NumberedCommand(0), file_));
    kill(service.process().pid(), SIGKILL);
    service.process().Wait();
  }
  ASSERT_TRUE(std::filesystem::exists(file_));
  const ProcessResult result = Score({"--connect-file", file_, "--timeout", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("Connection refused; this is the address of the service of " +
                                    file_.string() + ", which may have been killed\n"));

  Process next(ScorecastCommand({"serve", "--model", NumberedCommand(0).model, "--port", "0",
                                 "--http-port", "0", "--address-file", file_}));
  ASSERT_NE(next.ErrorLineWith("ready: "), "") << next.error_text();
  EXPECT_EQ(Read().pid, next.pid());
}

TEST_F(AddressFileOfAService, FollowsASupervisedService) {
  Service service(With(NumberedCommand(2), file_), std::vector<std::string>{"--max-restarts", "1"});
  const ServiceAddress first = Read();
  EXPECT_EQ(first.requests.ToText(), service.address());
  const auto kill_rank_0 = [&](pid_t pid) {
    kill(pid, SIGKILL);
    EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); }));
  };
  kill_rank_0(first.pid);
  // The address is still right, and this client waits for the next rank 0.
  EXPECT_EQ(Score({"--connect-file", file_}).err, Score({"--connect", service.address()}).err);
  ASSERT_TRUE(Eventually([&] { return Read().pid != first.pid; }));
  const ServiceAddress second = Read();
  EXPECT_EQ(second.requests, first.requests);
  EXPECT_EQ(second.http, first.http);

  kill_rank_0(second.pid);
  const ProcessResult result = service.process().Wait();
  EXPECT_THAT(result.err, HasSubstr("no further restart after 1"));
  EXPECT_FALSE(std::filesystem::exists(file_)) << "the supervisor removes it";
}

TEST_F(AddressFileOfAService, FaultsAreOneLineBeforeTheModelIsRead) {
  const ProcessResult result =
      RunScorecast({"serve", "--model", NumberedCommand(0).model, "--port", "0", "--http-port",
                    "-1", "--address-file", "/nonexistent/address.json"},
                   2);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("scorecast: --address-file /nonexistent/address.json: its "
                                    "directory does not exist\n"));
  EXPECT_EQ(result.err.find("weights"), std::string::npos) << result.err;
}

}  // namespace address_file_test
}  // namespace scorecast::testing
