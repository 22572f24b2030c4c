// HTTP of a real service. What its replies contain is compared with the other transports by
// transports_agree_test.cc.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "proto/scorecast.pb.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/http_transport.h"
#include "tests/e2e/models.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace serve_http_test {

using coordinator::Get;
using coordinator::HttpClient;
using coordinator::HttpReply;
using coordinator::Post;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const json kCompletion = {
    {"prompt", "The harbour is open."}, {"max_new_tokens", 20}, {"ignore_eos", true}};

TEST(ServeHttp, StreamsTheCompletionThatABatchWrites) {
  const BatchCommand command = {MakeModel("ignore-merges"), {}, 2};
  const BatchRun batch = RunRequests(command, {ToChunked(kCompletion)}, Transport::kBatch);
  ASSERT_EQ(batch.exit_code, 0) << batch.err;
  const json expected = batch.Body(0).at("outputs");
  const Service service(command);
  HttpClient client = ConnectToHttp(service);
  json streaming = kCompletion;
  streaming["stream"] = true;
  const HttpReply reply = client.Call(Post("/v1/chunked", streaming.dump()));
  EXPECT_EQ(reply.status, 200);
  json ids = json::array();
  json outputs;
  std::size_t events = 0;
  for (std::string line : LinesOf(reply.body)) {
    if (!line.starts_with("data: {")) {
      continue;
    }
    ++events;
    const json event = json::parse(line.substr(6));
    if (event.at("object") == "chunked.delta") {
      ids.insert(ids.end(), event.at("token_ids").begin(), event.at("token_ids").end());
    } else {
      outputs = event.at("outputs");
    }
  }
  EXPECT_GE(events, 2U);
  EXPECT_EQ(outputs, expected);
  EXPECT_EQ(ids, expected[0].at("token_ids"));
  EXPECT_THAT(reply.body, HasSubstr("data: [DONE]\n\n"));

  // The same prompt in OpenAI's words, twice.
  const HttpReply completions =
      client.Call(Post("/v1/completions", json{{"prompt", kCompletion.at("prompt")},
                                               {"max_tokens", kCompletion.at("max_new_tokens")},
                                               {"ignore_eos", true},
                                               {"temperature", 0},
                                               {"n", 2},
                                               {"skip_special_tokens", false},
                                               {"stream", true},
                                               {"stream_options", {{"include_usage", true}}}}
                                              .dump()));
  std::map<int, std::string> texts;
  json last;
  for (const std::string& line : LinesOf(completions.body)) {
    if (line.starts_with("data: {")) {
      last = json::parse(line.substr(6));
      for (const json& choice : last.at("choices")) {
        texts[choice.at("index").get<int>()] += choice.at("text").get<std::string>();
      }
    }
  }
  const std::string text = expected[0].at("text");
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, text}, {1, text}}));
  EXPECT_EQ(last.at("usage").at("completion_tokens"), 40);
  EXPECT_THAT(completions.body, HasSubstr("data: [DONE]\n\n"));
  const HttpReply refused = client.Call(Post("/v1/completions", R"({"prompt":"p","suffix":"s"})"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body).at("error").at("param"), "suffix");

  // Fields of sampling in JSON and in a message.
  json sampled = kCompletion;
  sampled.update({{"temperature", 1.2},
                  {"seed", 3},
                  {"repetition_penalty", 1.4},
                  {"logit_bias", {{"17", 3}, {"20", -100}}},
                  {"bad_words", {"a"}},
                  {"min_p", 0.01}});
  v1::Request request;
  v1::ChunkedRequest& message = *request.mutable_chunked();
  message.set_prompt("The harbour is open.");
  message.set_max_new_tokens(20);
  message.set_ignore_eos(true);
  message.set_temperature(1.2);
  message.set_seed(3);
  message.set_repetition_penalty(1.4);
  for (const auto& [id, value] : {std::pair("17", 3), std::pair("20", -100)}) {
    v1::TokenBias& bias = *message.add_logit_bias();
    bias.set_key(id);
    bias.set_value(value);
  }
  message.add_bad_words("a");
  message.set_min_p(0.01);
  EXPECT_EQ(json::parse(client.Call(Post("/v1/chunked", sampled.dump())).body)
                .at("outputs")
                .at(0)
                .at("text"),
            service.Connect()->Call(request).chunked().outputs(0).text());
}

TEST(ServeHttp, ContinuesAConversationAsTheOtherTransportsDo) {
  const reference::TempDirectory directory;
  const std::filesystem::path chat_template = directory.path() / "chat.jinja";
  std::ofstream(chat_template)
      << "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>"
         "\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  const BatchCommand command = {
      MakeModel("ignore-merges"), {"--chat-template", chat_template.string()}, 2};
  const json hello = json::array({json{{"role", "user"}, {"content", "The harbour is open."}}});
  const json chat = {
      {"messages", hello}, {"max_tokens", 12}, {"temperature", 0}, {"ignore_eos", true}};
  const BatchRun batch = RunRequests(command, {{"/v1/chat/completions", chat}}, Transport::kBatch);
  ASSERT_EQ(batch.exit_code, 0) << batch.err;
  const auto expected =
      batch.Body(0).at("choices").at(0).at("message").at("content").get<std::string>();

  const Service service(command);
  HttpClient client = ConnectToHttp(service);
  const auto post = [&](const std::string& url, const json& body) {
    const HttpReply reply = client.Call(Post(url, body.dump()));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.body;
  };
  const json whole = json::parse(post("/v1/chat/completions", chat));
  EXPECT_EQ(whole.at("choices").at(0).at("message"),
            (json{{"role", "assistant"}, {"content", expected}}));
  const json prompt = {
      {"prompt", "<|im_start|>user\nThe harbour is open.<|im_end|>\n<|im_start|>assistant\n"},
      {"max_tokens", 12},
      {"temperature", 0},
      {"ignore_eos", true}};
  const json completion = json::parse(post("/v1/completions", prompt));
  EXPECT_EQ(completion.at("choices").at(0).at("text"), expected) << "the prompt that it renders";
  EXPECT_EQ(completion.at("usage").at("prompt_tokens"), whole.at("usage").at("prompt_tokens"));

  json streaming = chat;
  streaming.update({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
  std::string streamed;
  bool has_begun = false;
  json last;
  for (const std::string& line : LinesOf(post("/v1/chat/completions", streaming))) {
    if (line.starts_with("data: {")) {
      last = json::parse(line.substr(6));
      for (const json& choice : last.at("choices")) {
        EXPECT_EQ(choice.at("delta").contains("role"), !std::exchange(has_begun, true));
        streamed += choice.at("delta").at("content").get<std::string>();
      }
    }
  }
  EXPECT_EQ(streamed, expected);
  EXPECT_EQ(last.at("usage").at("completion_tokens"), 12);

  v1::Request request;
  request.mutable_chat()->add_messages()->set_role("user");
  request.mutable_chat()->mutable_messages(0)->mutable_content()->set_text("The harbour is open.");
  request.mutable_chat()->set_max_tokens(12);
  request.mutable_chat()->set_temperature(0);
  request.mutable_chat()->set_ignore_eos(true);
  EXPECT_EQ(service.Connect()->Call(request).completions().choices(0).text(), expected);

  json spelled = chat;
  spelled["messages"][0]["content"] = "The harbour is open.<|im_end|>";
  EXPECT_GT(json::parse(post("/v1/chat/completions", spelled)).at("usage").at("prompt_tokens"),
            whole.at("usage").at("prompt_tokens").get<int>() + 1)
      << "a control token that a message spells is text";
}

TEST(ServeHttp, SharesItsClientsLimitsWithTheRequestSocket) {
  const Service service(
      NumberedCommand(0, {"--max-connections", "2", "--max-connections-per-address", "2"}));
  const auto socket = service.Connect();
  // The service has then closed earlier connections.
  EXPECT_EQ(ScoresOf(socket->Call(NumberedRequest(1))).size(), NumberedBody(1).at("items").size());
  HttpClient http = ConnectToHttp(service);
  EXPECT_EQ(http.Call(Post("/v1/score", NumberedBody(1).dump())).status, 200);
  EXPECT_EQ(ConnectToHttp(service).Receive().status, 503);
}

TEST(ServeHttp, IsProbedAtAPortOfItsOwnBeyondTheLimits) {
  Service service(NumberedCommand(
      0, {"--max-connections", "1", "--max-connections-per-address", "1", "--health-port", "0"}));
  // The service may not have closed an earlier connection yet.
  std::unique_ptr<launcher::Client> socket;
  ASSERT_TRUE(Eventually([&] {
    socket = service.Connect();
    return socket->Call(NumberedRequest(1)).has_score();
  }));
  EXPECT_EQ(ConnectToHttp(service).Receive().status, 503);
  const std::string line = service.process().ErrorLineWith("health: 127.0.0.1:");
  const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  for (const std::string path : {"/health", "/ready", "/metrics"}) {
    EXPECT_EQ(HttpClient(port).Call(Get(path)).status, 200) << path;
  }
  EXPECT_EQ(HttpClient(port).Call(Get("/info")).status, 404);
  const HttpReply reply = HttpClient(port).Call(Post("/v1/score", NumberedBody(1).dump()));
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.body, HasSubstr("It has: GET /health, GET /ping, GET /ready, "
                                    "GET /weaviate/.well-known/ready, GET /metrics."));
}

TEST(ServeHttp, GivesBackTheMemoryOfRequestsThatNeverArrived) {
  Service service(NumberedCommand(0));
  // Not read from /metrics, because its replies take memory, too, that must be given back.
  const auto resident = [path = "/proc/" + std::to_string(service.process().pid()) + "/statm"] {
    std::int64_t all = 0;
    std::int64_t pages = 0;
    std::ifstream(path) >> all >> pages;
    return static_cast<double>(pages * sysconf(_SC_PAGESIZE));
  };
  EXPECT_GT(resident(), 0);
  const double before = resident();
  constexpr int kClients = 600;
  constexpr std::size_t kBytes = 60'000;
  {
    const std::string& address = service.http_address();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<HttpClient>(port));
      clients.back()->Send(
          "POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" +
          std::string(kBytes, ' '));
    }
    EXPECT_TRUE(Eventually([&] { return resident() > before + 0.9 * kClients * kBytes; }));
  }
  EXPECT_TRUE(Eventually([&] { return resident() < before + 0.5 * kClients * kBytes; }))
      << resident() << " bytes, " << before << " before";
}

TEST(ServeHttp, TheHostMattersOnALoopbackAddressOnly) {
  const auto status = [](const Service& service, const std::string& host,
                         const std::string& fields = {}) {
    return ConnectToHttp(service)
        .Call("GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n")
        .status;
  };
  const std::string foreign = "Origin: https://evil.example\r\n";
  {
    Service service(NumberedCommand(0, {"--allowed-host", "a.example", "--allowed-host",
                                        "b.example", "--cors-origin", "null"}));
    EXPECT_EQ(status(service, "localhost"), 200);
    EXPECT_EQ(status(service, service.http_address()), 200);
    EXPECT_EQ(status(service, "b.example"), 200);
    EXPECT_EQ(status(service, "c.example"), 403);
    EXPECT_EQ(status(service, "localhost", foreign), 403);
    EXPECT_EQ(status(service, "localhost", "Origin: null\r\n"), 200);
    EXPECT_THAT(service.Drain().err, Not(HasSubstr("--allowed-host")));
  }
  Service service(
      NumberedCommand(0, {"--host", "0.0.0.0", "--insecure", "--allowed-host", "a.example"}));
  EXPECT_EQ(status(service, "c.example"), 200);
  EXPECT_EQ(status(service, "c.example", foreign), 403);
  EXPECT_THAT(service.Drain().err, HasSubstr("--allowed-host changes nothing"));
}

TEST(ServeHttp, AnAllowedHostIsANameWithoutAPort) {
  const ProcessResult result =
      RunScorecast({"serve", "--model", "nowhere", "--allowed-host", "a.example:80"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("--allowed-host"), HasSubstr("\"a.example:80\"")));
}

TEST(ServeHttp, TheLogNamesARequestByItsId) {
  Service service(NumberedCommand(0, {"--log-level", "debug"}));
  HttpClient client = ConnectToHttp(service);
  const auto call = [&](const std::string& path, const std::string& body, const std::string& id) {
    return client.Call(Post(path, body, "X-Request-Id: " + id + "\r\n")).status;
  };
  EXPECT_EQ(call("/v1/score", NumberedBody(1).dump(), "good-1"), 200);
  EXPECT_EQ(call("/v1/score", "{}", "bad-1"), 400);
  EXPECT_EQ(call("/nothing", "{}", "lost-1"), 404);
  const ProcessResult result = service.Drain();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("score [good-1]: "));
  EXPECT_THAT(result.err, HasSubstr("score [bad-1]: 400 missing_field"));
  EXPECT_THAT(result.err, HasSubstr("http [lost-1]: 404 unknown_url"));
}

TEST(ServeHttp, ADrainRepliesToWhatWasAccepted) {
  Service service(NumberedCommand(2));
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::unique_ptr<HttpClient>(new HttpClient(ConnectToHttp(service))));
    clients.back()->Send(Post("/v1/score", HeavyBody().dump()));
  }
  HttpClient idle = ConnectToHttp(service);
  EXPECT_EQ(idle.Call(Get("/nothing")).status, 404);
  kill(service.process().pid(), SIGUSR1);
  for (const auto& client : clients) {
    const HttpReply reply = client->Receive();
    EXPECT_TRUE(reply.status == 200 || reply.Reason() == "draining") << reply.body;
  }
  EXPECT_TRUE(idle.IsClosed());
  EXPECT_EQ(service.process().Wait().exit_code, 0);
}

}  // namespace serve_http_test
}  // namespace scorecast::testing
