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

#include "launcher/client/client.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/transports/http/http_client.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/http_transport.h"
#include "tests/e2e/models.h"
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
    return StartService(name, command_);
  }
  std::unique_ptr<Service> StartService(const std::string& name, BatchCommand command) const {
    for (const std::string& flag :
         {std::string("--front-key"), (directory_ / "fronts").string(),
          std::string("--address-file"), (directory_ / "replicas" / name).string()}) {
      command.flags.push_back(flag);
    }
    return std::make_unique<Service>(command);
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
      const nlohmann::json status = Call(Get("/ready")).Json();
      for (const auto& replica : status.at("replicas")) {
        ready += replica["ready"].get<bool>() ? 1 : 0;
      }
      return ready == replicas;
    });
  }

  const std::filesystem::path directory_ = NewDirectory();
  /// The same for all services: the name of a model is that of its directory, which is a new one.
  const BatchCommand command_ = NumberedCommand(0);
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

/// [choices] Texts and tokens of a stream.
struct Streamed {
  std::map<std::int64_t, std::string> texts;
  std::map<std::int64_t, std::vector<std::int64_t>> tokens;

  bool operator==(const Streamed&) const = default;
};

void AddEvents(const std::string& events, Streamed& streamed) {
  for (const std::string& line : LinesOf(events)) {
    if (line.starts_with("data: {")) {
      const nlohmann::json event = nlohmann::json::parse(line.substr(6));
      ASSERT_TRUE(event.contains("choices")) << line;
      const nlohmann::json& choice = event["choices"].at(0);
      const auto index = choice.at("index").get<std::int64_t>();
      streamed.texts[index] += choice.at("text").get<std::string>();
      for (const nlohmann::json& token : choice.at("token_ids")) {
        streamed.tokens[index].push_back(token.get<std::int64_t>());
      }
    }
  }
}

void AddChoices(const google::protobuf::RepeatedPtrField<v1::Completion>& choices,
                Streamed& streamed) {
  for (const v1::Completion& choice : choices) {
    streamed.texts[choice.index()] += choice.text();
    auto& tokens = streamed.tokens[choice.index()];
    tokens.insert(tokens.end(), choice.token_ids().begin(), choice.token_ids().end());
  }
}

TEST_F(FrontCommand, StreamsOfAServiceThatIsKilledGoOnAtAnother) {
  constexpr std::size_t kTokens = 3000;
  const BatchCommand command = {MakeModel("ignore-merges", /*positions=*/4096), {}, 0};
  StartFront();
  const auto first = StartService("a", command);
  const auto second = StartService("b", command);
  ASSERT_TRUE(AwaitReady(2));
  // So that both streams begin at the first service.
  ASSERT_EQ(Drain("drain", "b").out, "b is drained\n");
  nlohmann::json body = {{"prompt", "once upon"},
                         {"max_tokens", kTokens},
                         {"n", 2},
                         {"temperature", 1},
                         {"seed", 11},
                         {"ignore_eos", true},
                         {"return_token_ids", true}};
  v1::Request request;
  request.set_request_id(1);
  v1::CompletionsRequest& completions = *request.mutable_completions();
  completions.add_prompt()->set_text("a time");
  completions.set_max_tokens(kTokens);
  completions.set_n(2);
  completions.set_temperature(1);
  completions.set_ignore_eos(true);
  completions.set_return_token_ids(true);
  completions.set_stream(true);
  nlohmann::json streaming = body;
  streaming["stream"] = true;
  HttpClient http(port_);
  launcher::Client socket(address_);
  http.Send(Post("/v1/completions", streaming.dump()));
  socket.Send(request);
  std::string events = http.ReceiveUntil("data: ");
  v1::Response part = socket.Receive();
  kill(first->process().pid(), SIGSTOP);
  EXPECT_THAT(Call(Get("/metrics")).body, HasSubstr("scorecast_front_requests_in_flight 2"))
      << "neither has ended";
  ASSERT_EQ(Drain("undrain", "b").out, "b gets requests\n");
  kill(first->process().pid(), SIGKILL);

  Streamed of_socket;
  for (; part.has_completions_delta(); part = socket.Receive()) {
    AddChoices(part.completions_delta().choices(), of_socket);
  }
  ASSERT_TRUE(part.has_completions()) << part.error().message();
  completions.set_stream(false);
  completions.set_seed(part.completions().seed());
  Streamed wanted;
  AddChoices(second->Connect()->Call(request).completions().choices(), wanted);
  EXPECT_EQ(wanted.tokens[0].size(), kTokens);
  EXPECT_NE(wanted.tokens[0], wanted.tokens[1]);
  EXPECT_TRUE(of_socket == wanted)
      << of_socket.texts[0].size() << " and " << of_socket.texts[1].size() << " bytes";

  events += http.ReceiveUntil("0\r\n\r\n");
  EXPECT_THAT(events, HasSubstr("data: [DONE]\n\n"));
  Streamed of_http;
  AddEvents(events, of_http);
  Streamed wanted_of_http;
  const nlohmann::json whole =
      ConnectToHttp(*second).Call(Post("/v1/completions", body.dump())).Json();
  for (const nlohmann::json& choice : whole.at("choices")) {
    AddEvents("data: " + nlohmann::json{{"choices", {choice}}}.dump() + "\n", wanted_of_http);
  }
  EXPECT_EQ(wanted_of_http.tokens[1].size(), kTokens);
  EXPECT_TRUE(of_http == wanted_of_http)
      << of_http.texts[0].size() << " and " << of_http.texts[1].size() << " bytes";
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
