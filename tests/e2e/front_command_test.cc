// `scorecast front` before two services.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/coordinator/transports/http/http_client.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/http_transport.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace front_command_test {

using coordinator::Get;
using coordinator::HttpClient;
using coordinator::HttpReply;
using coordinator::Post;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The response without what differs each time.
nlohmann::json Stable(nlohmann::json response) {
  response.erase("timings");
  response["usage"].erase("cached_tokens");
  return response;
}

class FrontCommand : public ::testing::Test {
 protected:
  FrontCommand() {
    const std::vector<std::string> lines = LinesOf(RunScorecast({"key", "new", "front"}).out);
    WriteFile(directory_ / "key", lines.at(0) + "\n");
    WriteFile(directory_ / "fronts", lines.at(1) + "\n");
    std::filesystem::create_directory(directory_ / "replicas");
  }

  std::unique_ptr<Service> StartService(const std::string& name) const {
    return std::make_unique<Service>(
        NumberedCommand(0, {"--front-key", (directory_ / "fronts").string(), "--address-file",
                            (directory_ / "replicas" / name).string()}));
  }
  void StartFront() {
    Command command =
        ScorecastCommand({"front", "--replicas", (directory_ / "replicas").string(), "--front-key",
                          (directory_ / "key").string(), "--port", "0", "--http-port", "0"});
    command.timeout = std::chrono::seconds(240);
    front_ = std::make_unique<Process>(command);
    const std::string line = front_->ErrorLineWith("ready: requests on ");
    const std::size_t begin = line.find(", HTTP on 127.0.0.1:");
    ASSERT_NE(begin, std::string::npos) << line;
    port_ = static_cast<std::uint16_t>(std::stoi(line.substr(begin + 20)));
    const std::size_t address = line.find("requests on ") + 12;
    address_ = line.substr(address, begin - address);
  }
  HttpReply Call(const std::string& request) const { return HttpClient(port_).Call(request); }
  ProcessResult Drain(const std::string& word, const std::string& name) const {
    return RunScorecast(
        {"front", word, name, "--connect", address_, "--front-key", (directory_ / "key").string()});
  }
  bool AwaitReady(std::size_t replicas) const {
    return Eventually([&] {
      std::size_t ready = 0;
      for (const auto& replica : Call(Get("/ready")).Json()["replicas"]) {
        ready += replica["ready"].get<bool>() ? 1 : 0;
      }
      return ready == replicas;
    });
  }

  const std::filesystem::path directory_ = NewDirectory();
  std::unique_ptr<Process> front_;
  std::uint16_t port_ = 0;
  std::string address_;  ///< Of the request socket.
};

TEST_F(FrontCommand, RequestsGoToServicesThatAppearAndDie) {
  StartFront();
  EXPECT_EQ(Call(Get("/ready")).status, 503);
  EXPECT_EQ(Call(Get("/health")).status, 200);
  const auto first = StartService("a");
  auto second = StartService("b");
  ASSERT_TRUE(AwaitReady(2));
  std::vector<nlohmann::json> wanted;
  HttpClient direct = ConnectToHttp(*first);
  for (const nlohmann::json& body : NumberedBodies(20)) {
    wanted.push_back(Stable(direct.Call(Post("/v1/score", body.dump())).Json()));
    const HttpReply reply = Call(Post("/v1/score", body.dump()));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(Stable(reply.Json()), wanted.back());
  }
  kill(second->process().pid(), SIGKILL);
  for (std::uint64_t number = 0; number < 20; ++number) {
    const HttpReply reply = Call(Post("/v1/score", NumberedBody(number).dump()));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(Stable(reply.Json()), wanted[number]);
  }
  EXPECT_TRUE(AwaitReady(1));
  EXPECT_THAT(Call(Get("/metrics")).body,
              HasSubstr("scorecast_front_replica_ready{replica=\"a\"} 1"));
  // The file of a killed service stays, and another service of its name writes it anew.
  second = StartService("b");
  EXPECT_TRUE(AwaitReady(2));
}

TEST_F(FrontCommand, ServicesAreUpgradedOneAfterAnotherUnderLoad) {
  StartFront();
  std::map<std::string, std::unique_ptr<Service>> services;
  services["a"] = StartService("a");
  services["b"] = StartService("b");
  ASSERT_TRUE(AwaitReady(2));
  const nlohmann::json body = NumberedBody(1);
  const nlohmann::json wanted = Stable(Call(Post("/v1/score", body.dump())).Json());
  std::atomic<bool> has_ended = false;
  std::atomic<int> replies = 0;
  std::vector<std::string> faults;
  std::thread load([&] {
    HttpClient client(port_);
    while (!has_ended) {
      const HttpReply reply = client.Call(Post("/v1/score", body.dump()));
      if (reply.status != 200 || Stable(reply.Json()) != wanted) {
        faults.push_back(reply.body);
      }
      ++replies;
    }
  });
  for (const std::string name : {"a", "b"}) {
    EXPECT_EQ(Drain("drain", name).out, name + " is drained\n");
    EXPECT_EQ(services[name]->Drain().exit_code, 0);
    services[name] = nullptr;
    services[name] = StartService(name);
    EXPECT_EQ(Drain("undrain", name).out, name + " gets requests\n");
    EXPECT_TRUE(AwaitReady(2));
  }
  const int before = replies;
  EXPECT_TRUE(Eventually([&] { return replies > before + 10; }));
  has_ended = true;
  load.join();
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(FrontCommand, ADrainThatIsNotAllowedFails) {
  StartFront();
  const auto service = StartService("a");
  ASSERT_TRUE(AwaitReady(1));
  EXPECT_THAT(Drain("drain", "a").err, HasSubstr("last_replica"));
  EXPECT_THAT(Drain("drain", "c").err, HasSubstr("no_such_replica"));
  EXPECT_EQ(Drain("drain", "c").exit_code, 1);
  WriteFile(directory_ / "key", "another\n");
  EXPECT_THAT(Drain("drain", "a").err, HasSubstr("unauthorized"));
}

TEST_F(FrontCommand, EndsWithCodeZeroOnASignal) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    StartFront();
    kill(front_->pid(), signal);
    const ProcessResult result = front_->Wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("stopped"));
  }
}

TEST_F(FrontCommand, AskedForNothingNamesTheFlagThatIsMissing) {
  const ProcessResult result =
      RunScorecast({"front", "--front-key", (directory_ / "key").string()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--replicas is required"));
}

TEST_F(FrontCommand, AListThatIsMissingOrHasAFaultIsNamed) {
  const std::string key = (directory_ / "key").string();
  const std::string list = (directory_ / "list").string();
  const auto expect = [&](const std::string& fault) {
    const ProcessResult result = RunScorecast({"front", "--replicas", list, "--front-key", key});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("--replicas"));
    EXPECT_THAT(result.err, HasSubstr(fault));
  };
  expect("No such file or directory");
  WriteFile(list, "a 127.0.0.1:7400\nb\n");
  expect("line 2: it is neither NAME HOST:PORT nor NAME ADDRESS_FILE");
}

TEST_F(FrontCommand, AKeyFileWithAFaultIsNamed) {
  WriteFile(directory_ / "key", "front key\n");
  const ProcessResult result =
      RunScorecast({"front", "--replicas", (directory_ / "replicas").string(), "--front-key",
                    (directory_ / "key").string(), "--port", "0", "--http-port", "0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("its first line must be the key alone"));
}

}  // namespace front_command_test
}  // namespace scorecast::testing
