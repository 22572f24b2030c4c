// Keys of a real service: what is refused before the port opens, who is let in, and what the
// holders of keys do not share.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/scorecast.pb.h"
#include "tests/e2e/http_transport.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_keys_test {

using coordinator::Get;
using coordinator::Post;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

/// A key, and its line in the file.
std::pair<std::string, std::string> NewKey(const std::string& name) {
  const ProcessResult result = RunScorecast({"key", "new", name});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = LinesOf(result.out);
  EXPECT_THAT(lines, SizeIs(2));
  return {lines.at(0), lines.at(1) + " "};
}

void ExpectRefused(const std::vector<std::string>& flags, const std::string& part) {
  std::vector<std::string> arguments = {
      "serve", "--model", MakeModel("digits").string(), "--port", "0", "--http-port", "0"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ProcessResult result = RunScorecast(arguments);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(part));
  const std::vector<std::string> lines = LinesOf(result.err);
  EXPECT_THAT(lines.back(), HasSubstr("scorecast: "));
  EXPECT_THAT(lines.back(), HasSubstr(part)) << "in one line";
}

TEST(ServeKeys, AreNeededOffLoopbackAndMustBeRight) {
  ExpectRefused({"--host", "0.0.0.0"}, "so give --api-keys FILE");
  ExpectRefused({"--open-metrics"}, "--open-metrics needs --api-keys");
  const std::filesystem::path file = NewDirectory() / "keys";
  WriteFile(file, "# keys\nalice short\n");
  ExpectRefused({"--api-keys", file.string()}, ": line 2: the key has 5 characters");
  ExpectRefused({"--api-keys", file.string(), "--insecure"}, "contradict each other");
  ExpectRefused({"--front-key", file.string()},
                "--front-key " + file.string() + ": line 2: the key has 5 characters");
  const ProcessResult proxy =
      RunScorecast({"serve", "--model", "nowhere", "--proxy", "10.0.0.0/33"});
  EXPECT_EQ(proxy.exit_code, 1);
  EXPECT_THAT(proxy.err, AllOf(HasSubstr("--proxy"), HasSubstr("\"10.0.0.0/33\"")));
  const ProcessResult name = RunScorecast({"key", "new", "10.0.0.1"});
  EXPECT_EQ(name.exit_code, 1);
  EXPECT_THAT(name.err, HasSubstr("\"10.0.0.1\" is no name of a key"));
}

TEST(ServeKeys, LetTheirHoldersIn) {
  const auto [alice, alice_line] = NewKey("alice");
  const auto [bob, bob_line] = NewKey("bob");
  const std::filesystem::path file = NewDirectory() / "keys";
  WriteFile(file, alice_line + "\n" + bob_line + "\n");
  Service service({MakeModel("digits"),
                   {"--host", "0.0.0.0", "--api-keys", file.string(), "--metrics-clients",
                    "--log-level", "debug"}});
  const auto run = [&](const std::string& command, const std::string& key) {
    std::vector<std::string> arguments = {command, "--connect", service.address()};
    if (command == "score") {
      arguments.insert(arguments.end(), {"--query", "12", "--item", "34", "--label-token-id", "7"});
    }
    if (!key.empty()) {
      arguments.insert(arguments.end(), {"--api-key", key});
    }
    return RunScorecast(arguments);
  };
  EXPECT_EQ(run("score", alice).exit_code, 0);
  for (const std::string& wrong : {std::string(), alice + "x"}) {
    const ProcessResult refused = run("score", wrong);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("scorecast: 401 unauthorized: "));
    EXPECT_THAT(LinesOf(refused.err), SizeIs(1));
  }

  coordinator::HttpClient http = ConnectToHttp(service);
  const auto bearer = [](const std::string& key) {
    return "Authorization: Bearer " + key + "\r\n";
  };
  // The same prompt, so that its K/V would be found in the cache if it were shared.
  std::string ids = "9";
  for (int i = 0; i < 150; ++i) {
    ids += ",9";
  }
  const std::string prompt = R"({"query":[)" + ids + R"(],"items":[[8]],"label_token_ids":[7]})";
  const auto cached = [&](const std::string& key) {
    const auto reply = http.Call(Post("/v1/score", prompt, bearer(key)));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.Json().at("usage").at("cached_tokens").get<int>();
  };
  EXPECT_EQ(cached(alice), 0);
  EXPECT_GT(cached(alice), 0);
  EXPECT_EQ(cached(bob), 0) << "another's cache would tell what others ask";
  EXPECT_EQ(http.Call(Get("/health")).status, 200);
  EXPECT_EQ(http.Call(Get("/ready")).status, 200);
  EXPECT_EQ(http.Call(Get("/metrics")).status, 401);
  EXPECT_EQ(http.Call(Get("/v1/models", bearer("wrong"))).status, 401);
  EXPECT_EQ(http.Call(Get("/openapi.json")).status, 401);

  const auto [carol, carol_line] = NewKey("carol");
  WriteFile(file, bob_line + "\n" + carol_line + "priority: 5 salt: shared\n");
  const ProcessResult reloaded = run("reload", bob);
  // The service may have looked at the file itself just before.
  EXPECT_THAT(reloaded.out, AnyOf("2 keys, 1 new, 1 revoked\n", "2 keys, 0 new, 0 revoked\n"))
      << reloaded.err;
  EXPECT_EQ(http.Call(Post("/v1/score", prompt, bearer(alice))).status, 401);
  EXPECT_EQ(cached(carol), 0);
  WriteFile(file, "broken\n");
  const ProcessResult kept = run("reload", carol);
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_THAT(kept.err,
              HasSubstr("line 1: a name stands alone, without a key; the keys stay as they were"));
  EXPECT_THAT(http.Call(Get("/metrics", bearer(carol))).body,
              AllOf(HasSubstr("client=\"alice\",code=\"200\""),
                    HasSubstr("client=\"other\",code=\"401\"")));
  const ProcessResult ended = service.Drain();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.err, AllOf(HasSubstr(" of alice: "), HasSubstr(" of bob: ")));
  for (const std::string& secret : {alice, bob, carol}) {
    EXPECT_THAT(ended.err, Not(HasSubstr(secret))) << "the log must not have keys";
  }
}

TEST(ServeKeys, AFrontHasAKeyOfItsOwn) {
  const auto [key, line] = NewKey("front");
  const std::filesystem::path file = NewDirectory() / "front";
  WriteFile(file, line + "\n");
  const auto hello_of = [&, key = key](const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"--front-key", file.string()};
    all.insert(all.end(), flags.begin(), flags.end());
    Service service({MakeModel("digits"), all});
    const auto client = service.Connect();
    v1::Request request;
    request.mutable_hello()->set_front_key(key);
    request.mutable_hello()->set_status_interval_ms(10);
    v1::HelloReply hello = client->Call(request).hello();
    EXPECT_TRUE(client->Receive().status().ready());
    EXPECT_EQ(service.Drain().exit_code, 0);
    return hello;
  };
  const v1::HelloReply hello = hello_of({"--dtype", "f32"});
  EXPECT_TRUE(hello.trusted());
  EXPECT_EQ(hello.kind(), "a language model");
  EXPECT_EQ(hello.dtype(), "f32");
  EXPECT_NE(hello.version(), "");
  EXPECT_NE(hello.kernel_set(), "");
  EXPECT_EQ(hello_of({"--dtype", "f32"}).fingerprint(), hello.fingerprint());
  EXPECT_NE(hello_of({"--dtype", "f32", "--one-by-one"}).fingerprint(), hello.fingerprint());
#if defined(__x86_64__)
  // Fronts use only services together whose libraries compute with the same kernels.
  const auto with_core = [&](const char* core) {
    setenv("OPENBLAS_CORETYPE", core, /*overwrite=*/1);
    v1::HelloReply with = hello_of({"--dtype", "f32", "--kernel", "generic"});
    unsetenv("OPENBLAS_CORETYPE");
    return with;
  };
  const v1::HelloReply nehalem = with_core("Nehalem");
  const v1::HelloReply prescott = with_core("Prescott");
  EXPECT_THAT(nehalem.kernel_set(), MatchesRegex("generic, OpenBLAS [0-9.]+ Nehalem"));
  EXPECT_THAT(prescott.kernel_set(), MatchesRegex("generic, OpenBLAS [0-9.]+ Prescott"));
  EXPECT_NE(nehalem.fingerprint(), prescott.fingerprint());
#endif
}

}  // namespace serve_keys_test
}  // namespace scorecast::testing
