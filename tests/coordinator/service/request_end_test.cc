// How requests end before their response is computed: by a deadline, by a client that leaves, or by
// the end of a drain. All of these come at once, while the tokenizer or the ranks are stuck.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/service/request_service.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/stuck_endpoint.h"
#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {
namespace request_end_test {

using scorecast::testing::Eventually;

constexpr const char* kGenerate = R"({"prompt":"p","max_new_tokens":100)";

std::shared_ptr<AskingCall> MakeCall() { return std::make_shared<AskingCall>(); }

/// Begins a request from JSON.
void Begin(FakeServer& server, const std::string& url, const std::string& body,
           const std::shared_ptr<AskingCall>& call) {
  const Endpoint& endpoint = *server.service.FindByUrl(url);
  coordinator::Begin(server.service, endpoint, endpoint.FromJson(ParseJson(body, 1000).value()),
                     call);
}

/// Waits for the error. Returns its code.
int CodeOf(AskingCall& call) {
  const auto response = call.Wait().Respond();
  return response ? 200 : response.error().code;
}

TEST(RequestEnd, ADeadlinePassesWhileAPassIsStuck) {
  FakeServer server;
  server.cluster.Hold();
  const auto in_pass = MakeCall();
  const auto queued = MakeCall();
  Begin(server, "/v1/chunked", std::string(kGenerate) + R"(,"timeout_ms":20})", in_pass);
  Begin(server, "/v1/chunked", std::string(kGenerate) + R"(,"timeout_ms":20})", queued);
  ASSERT_EQ(server.cluster.plans().size(), 1U);
  const auto response = in_pass->Wait().Respond();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, 504);
  EXPECT_EQ(response.error().reason, "deadline_passed");
  EXPECT_EQ(response.error().param, "timeout_ms");
  EXPECT_EQ(CodeOf(*queued), 504);
  EXPECT_EQ(in_pass->replies().bytes(), 0);
  EXPECT_EQ(queued->replies().bytes(), 0);
  server.cluster.Release();
  server.scheduler.WaitIdle();
  EXPECT_EQ(server.cluster.plans().size(), 1U) << "nothing is computed any more";
}

TEST(RequestEnd, ADeadlinePassesInTheMiddleOfAStream) {
  std::atomic<Clock::duration> passed = Clock::duration::zero();
  FakeServer server(FakeServer::MultiItem(), {}, Endpoints(),
                    [&] { return Clock::now() + passed.load(); });
  std::atomic<int> deltas = 0;
  const auto call = std::make_shared<AskingCall>([&](std::size_t, const CompletionDelta&) {
    if (++deltas == 3) {
      server.cluster.Hold();
    }
  });
  Begin(server, "/v1/chunked", std::string(kGenerate) + R"(,"stream":true,"timeout_ms":3600000})",
        call);
  EXPECT_TRUE(Eventually([&] { return deltas >= 3; }));
  passed = std::chrono::hours(1);
  server.service.deadlines().ReadClock();
  EXPECT_EQ(CodeOf(*call), 504);
  const int before = deltas;
  server.cluster.Release();
  server.scheduler.WaitIdle();
  EXPECT_EQ(deltas, before) << "no delta follows the last reply";
}

TEST(RequestEnd, ADeadlinePassesWhileATextIsTokenized) {
  FakeServer server;
  server.tokenizer.Hold();
  const auto call = MakeCall();
  std::thread begins([&] {
    Begin(server, "/v1/chunked",
          R"({"timeout_ms":20,"max_new_tokens":1,"prompt":")" + std::string(20'000, 'x') + R"("})",
          call);
  });
  EXPECT_EQ(CodeOf(*call), 504);
  server.tokenizer.Release();
  begins.join();
  EXPECT_TRUE(server.cluster.plans().empty());
}

TEST(RequestEnd, ADeadlinePassesWhileARequestIsRead) {
  FakeServer server;
  const auto call = MakeCall();
  call->SetArrived(Clock::now() - std::chrono::seconds(1));
  Begin(server, "/v1/chunked", std::string(kGenerate) + R"(,"timeout_ms":1000})", call);
  EXPECT_TRUE(call->is_over());
  EXPECT_EQ(CodeOf(*call), 504);
  EXPECT_TRUE(server.cluster.plans().empty());
}

struct NoReadout : Readout {
  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows&) override {
    return proto::Unexpected(ClientLeft());
  }
  std::string Summary() const override { return ""; }
  std::int64_t Items() const override { return 0; }
};

// A call may stay for long after its end, while its client reads a delta slowly.
TEST(RequestEnd, ACallThatEndsWithAnErrorKeepsNothingForItsResponse) {
  const auto call = MakeCall();
  auto readout = std::make_shared<NoReadout>();
  const std::weak_ptr<Readout> kept = readout;
  EXPECT_TRUE(call->Prepared(std::move(readout), FormDelta(), "model"));
  EXPECT_FALSE(kept.expired());
  EXPECT_TRUE(call->End(ClientLeft()));
  EXPECT_TRUE(kept.expired());
}

/// A server whose only endpoint is StuckEndpoint.
struct StuckServer {
  StuckEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake{FakeServer::MultiItem(), {}, endpoints};

  /// A call that is admitted and not prepared yet.
  std::shared_ptr<AskingCall> Admit(Held bytes = nullptr) {
    auto call = MakeCall();
    call->SetEndpoint(endpoint);
    call->HoldBytes(std::move(bytes));
    fake.service.Admit(call, endpoint.FromJson({}));
    return call;
  }
};

TEST(RequestEnd, PreparingStopsWhenTheClientLeaves) {
  StuckServer server;
  HeldBytes requests(1000);
  const std::shared_ptr<AskingCall> call = server.Admit(requests.Hold(100));
  std::thread prepares([&] { server.fake.service.Prepare(call); });
  EXPECT_TRUE(Eventually([&] { return server.endpoint.begun() == 1; }));
  EXPECT_EQ(requests.bytes(), 100) << "held until the request is prepared";
  server.fake.service.Cancel({call});
  prepares.join();
  EXPECT_EQ(CodeOf(*call), 499);
  EXPECT_EQ(requests.bytes(), 0);
}

TEST(RequestEnd, ARequestThatIsOverIsNotPreparedAndHoldsNothing) {
  StuckServer server;
  HeldBytes requests(1000);
  const std::shared_ptr<AskingCall> call = server.Admit(requests.Hold(100));
  EXPECT_EQ(requests.bytes(), 100);
  server.fake.service.Cancel({call});
  EXPECT_EQ(requests.bytes(), 0);
  EXPECT_EQ(call.use_count(), 1);
  server.fake.service.Prepare(call);
  EXPECT_EQ(server.endpoint.begun(), 0);
  EXPECT_EQ(CodeOf(*call), 499);
}

TEST(RequestEnd, TheEndOfADrainRefusesWhateverIsStuck) {
  StuckServer stuck;
  const std::shared_ptr<AskingCall> prepared = stuck.Admit();
  const std::shared_ptr<AskingCall> waiting = stuck.Admit();
  std::thread prepares([&] { stuck.fake.service.Prepare(prepared); });
  EXPECT_TRUE(Eventually([&] { return stuck.endpoint.begun() == 1; }));
  stuck.fake.service.StartDraining();
  EXPECT_FALSE(stuck.fake.service.WaitAllOver(std::chrono::milliseconds(1)));
  stuck.fake.service.RefuseAll();
  prepares.join();
  EXPECT_EQ(CodeOf(*prepared), 503);
  EXPECT_EQ(CodeOf(*waiting), 503);
  EXPECT_TRUE(stuck.fake.service.WaitAllOver(std::chrono::milliseconds(0)));

  FakeServer server;
  server.cluster.Hold();
  const auto in_pass = MakeCall();
  const auto queued = MakeCall();
  Begin(server, "/v1/chunked", std::string(kGenerate) + "}", in_pass);
  Begin(server, "/v1/chunked", std::string(kGenerate) + "}", queued);
  server.service.RefuseAll();
  for (AskingCall* call : {in_pass.get(), queued.get()}) {
    const auto response = call->Wait().Respond();
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, 503);
    EXPECT_EQ(response.error().reason, "draining");
  }
  EXPECT_TRUE(server.service.WaitAllOver(std::chrono::milliseconds(0)));
  EXPECT_FALSE(server.scheduler.WaitIdleFor(std::chrono::milliseconds(0))) << "a pass is in flight";
  server.cluster.Release();
  server.scheduler.WaitIdle();
}

TEST(RequestEnd, AStopLetsThePassInFlightEnd) {
  FakeServer server;
  server.cluster.Hold();
  constexpr const char* kOnePass = R"({"query":[1],"items":[[2]],"label_token_ids":[5]})";
  const auto in_pass = MakeCall();
  const auto queued = MakeCall();
  const auto late = MakeCall();
  Begin(server, "/v1/score", kOnePass, in_pass);
  Begin(server, "/v1/score", kOnePass, queued);
  server.service.StopAfterPass();
  EXPECT_EQ(CodeOf(*queued), 503);
  Begin(server, "/v1/score", kOnePass, late);
  EXPECT_EQ(CodeOf(*late), 503);
  server.cluster.Release();
  EXPECT_EQ(CodeOf(*in_pass), 200);
  server.scheduler.WaitIdle();
  EXPECT_EQ(server.cluster.plans().size(), 1U);
}

// Deadlines, clients that leave and results come at the same time. Each request ends once (a
// promise that is set twice throws), and nothing is left.
TEST(RequestEnd, ComesOnceHoweverManyCausesMeet) {
  FakeServer server;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::shared_ptr<AskingCall>> calls;
    for (int i = 0; i < 4; ++i) {
      calls.push_back(MakeCall());
      Begin(server, "/v1/chunked",
            R"({"prompt":"p","max_new_tokens":4,"stream":true,"timeout_ms":1})", calls.back());
    }
    std::thread leaves([&] { server.service.Cancel({calls[0], calls[1]}); });
    for (const auto& call : calls) {
      const int code = CodeOf(*call);
      EXPECT_TRUE(code == 200 || code == 499 || code == 504) << code;
    }
    leaves.join();
  }
  EXPECT_TRUE(server.service.WaitAllOver(std::chrono::seconds(60)));
  server.scheduler.WaitIdle();
}

}  // namespace request_end_test
}  // namespace scorecast::coordinator
