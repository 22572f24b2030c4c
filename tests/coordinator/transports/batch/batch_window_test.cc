// The lines in flight: their order, what they wait for, and how a run ends whose input or output
// fails.

#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/schedule/clock.h"
#include "coordinator/transports/batch/batch.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/batch/batch_run.h"

namespace scorecast::coordinator {
namespace batch_window_test {

using nlohmann::json;

json WithoutTimings(json record) {
  record["response"]["body"].erase("timings");
  return record;
}

TEST(Batch, ScoresDoNotDependOnTheWindow) {
  std::string input;
  for (int i = 0; i < 60; ++i) {
    input += Line(std::to_string(i), i % 7 == 3 ? "{}" : Body(i));
  }
  FakeServer wide_server;
  const BatchRun wide = RunText(wide_server, input);
  FakeServer narrow_server;
  BatchOptions narrow;
  narrow.window.max_lines = 1;
  const BatchRun alone = RunText(narrow_server, input, narrow);
  FakeServer short_server;
  BatchOptions few_bytes;
  few_bytes.window.max_bytes = 300;
  const BatchRun few = RunText(short_server, input, few_bytes);
  ASSERT_EQ(wide.lines.size(), 60u);
  ASSERT_EQ(alone.lines.size(), 60u);
  ASSERT_EQ(few.lines.size(), 60u);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(wide.lines[i]["custom_id"], std::to_string(i));
    EXPECT_EQ(WithoutTimings(wide.lines[i]), WithoutTimings(alone.lines[i]));
    EXPECT_EQ(WithoutTimings(wide.lines[i]), WithoutTimings(few.lines[i]));
  }
}

/// Lets the cluster compute once the last line has been read.
class ReleasingInput : public std::streambuf {
 public:
  ReleasingInput(std::string text, FakeCluster& cluster)
      : text_(std::move(text)), cluster_(cluster) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

 protected:
  int_type underflow() override {
    cluster_.Release();
    return traits_type::eof();
  }

 private:
  std::string text_;
  FakeCluster& cluster_;
};

TEST(Batch, LinesThatWaitTogetherShareAPass) {
  FakeServer server;
  server.cluster.Hold();
  std::string input;
  for (int i = 0; i < 20; ++i) {
    input += Line(std::to_string(i), Body(i));
  }
  ReleasingInput releasing(input, server.cluster);
  std::istream in(&releasing);
  std::ostringstream out;
  EXPECT_EQ(RunBatchOnStreams(in, out, server.service, {}).end.succeeded, 20);
  server.scheduler.WaitIdle();
  // A line has 5 rows and a pass 64. The first line goes alone; the others have 95 rows.
  EXPECT_EQ(server.cluster.plans().size(), 3u);
}

TEST(Batch, KeepsTheOrderOfTheInputWhateverIsReadyFirst) {
  FakeServer server;
  server.cluster.Hold();
  std::string input;
  for (int i = 0; i < 50; ++i) {
    // A line without items is ready at once, the others only when the cluster may compute.
    const std::string model = R"(,"model":")" + std::to_string(i) + R"(")";
    input += Line(std::to_string(i),
                  i % 3 == 0 ? Body(i, model)
                             : R"({"query":[1],"items":[],"label_token_ids":[5])" + model + "}") +
             "not JSON\n";
  }
  ReleasingInput releasing(input, server.cluster);
  std::istream in(&releasing);
  std::ostringstream out;
  EXPECT_EQ(RunBatchOnStreams(in, out, server.service, {}).ExitCode(), 3);
  server.scheduler.WaitIdle();
  std::istringstream lines(out.str());
  std::string line;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    const json body = json::parse(line)["response"]["body"];
    EXPECT_EQ(body["model"], std::to_string(i));
    EXPECT_EQ(body["scores"].size(), i % 3 == 0 ? 2u : 0u);
    ASSERT_TRUE(std::getline(lines, line));
    ExpectErrorRecord(json::parse(line), nullptr, 400, "invalid_json", 2 * i + 2);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

/// An endpoint with nothing to compute, whose responses are formed by a function.
class FormingEndpoint : public Endpoint {
 public:
  /// `response_bytes` is the bound on the response of each request. Models of `kinds` can compute
  /// requests.
  FormingEndpoint(
      std::function<void()> on_parse, std::function<void()> on_respond,
      std::int64_t response_bytes = 0, std::function<void()> on_prepare = [] {},
      ModelKinds kinds = ModelKinds::All())
      : on_parse_(std::move(on_parse)),
        on_respond_(std::move(on_respond)),
        response_bytes_(response_bytes),
        on_prepare_(std::move(on_prepare)),
        kinds_(kinds) {}

  std::string_view name() const override { return "forming"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/score"};
    return kUrls;
  }
  int message_field() const override { return 0; }
  ParsedRequest FromJson(BodyJson) const override {
    on_parse_();
    auto request = std::make_unique<Request>();
    request->on_respond = on_respond_;
    request->response_bytes = response_bytes_;
    request->on_prepare = on_prepare_;
    request->own_kinds = kinds_;
    return std::unique_ptr<EndpointRequest>(std::move(request));
  }
  ParsedRequest FromMessage(v1::Request) const override { return FromJson({}); }

 private:
  struct Responder : Readout {
    std::function<void()> on_respond;

    proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows&) override {
      on_respond();
      return std::make_unique<EndpointResponse>(std::make_unique<v1::ScoreResponse>());
    }
    std::string Summary() const override { return "nothing"; }
    std::int64_t Items() const override { return 0; }
  };

  struct Request : EndpointRequest {
    std::function<void()> on_respond;
    std::int64_t response_bytes = 0;
    std::function<void()> on_prepare;
    ModelKinds own_kinds = ModelKinds::All();

    proto::Expected<PreparedRequest> Prepare(const RequestContext&, const OnDelta&) && override {
      on_prepare();
      auto readout = std::make_shared<Responder>();
      readout->on_respond = on_respond;
      PreparedRequest prepared;
      prepared.readout = std::move(readout);
      return prepared;
    }
    std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override {
      EXPECT_TRUE(own_kinds.Has(KindOf(config))) << "asked of a model that cannot compute it";
      return response_bytes;
    }
    ModelKinds kinds() const override { return own_kinds; }
  };

  const std::function<void()> on_parse_;
  const std::function<void()> on_respond_;
  const std::int64_t response_bytes_;
  const std::function<void()> on_prepare_;
  const ModelKinds kinds_;
};

TEST(Batch, NoMoreLinesAreReadThanTheWindowHolds) {
  BatchOptions few_lines;
  few_lines.window.max_lines = 2;
  BatchOptions few_bytes;  // Room for two of the three lines, which have 61 bytes each.
  few_bytes.window.max_bytes = 150;
  for (const BatchOptions& options : {few_lines, few_bytes}) {
    std::promise<void> third_taken;
    int taken = 0;
    bool first = true;
    const FormingEndpoint endpoint(
        [&] {
          ++taken;
          if (taken == 3) {
            third_taken.set_value();
          }
        },
        [&] {
          // The first line is in the window while its response is formed.
          if (std::exchange(first, false)) {
            EXPECT_EQ(third_taken.get_future().wait_for(std::chrono::milliseconds(100)),
                      std::future_status::timeout);
          }
        });
    const std::array<const Endpoint*, 1> endpoints = {&endpoint};
    FakeServer server(FakeServer::MultiItem(), {}, endpoints);
    std::istringstream in(Line("1", "{}") + Line("2", "{}") + Line("3", "{}"));
    std::ostringstream out;
    EXPECT_EQ(RunBatchOnStreams(in, out, server.service, options).end.succeeded, 3);
    server.scheduler.WaitIdle();
  }
}

TEST(Batch, ALineWaitsUntilTheResponsesOfEarlierLinesLeaveRoom) {
  constexpr std::int64_t kBytes = 100'000;
  for (const std::int64_t bound : {kBytes / 2, 5 * kBytes / 2}) {
    BatchOptions options;
    options.window.max_response_bytes = bound;
    const int fit = bound < kBytes ? 1 : 2;  // A single line always has room.
    std::promise<void> too_early;
    int begun = 0;
    bool first = true;
    const FormingEndpoint endpoint(
        [] {},
        [&] {
          // The first line is in the window while its response is formed.
          if (std::exchange(first, false)) {
            EXPECT_EQ(too_early.get_future().wait_for(std::chrono::milliseconds(100)),
                      std::future_status::timeout);
          }
        },
        kBytes,
        [&] {
          if (++begun == fit + 1) {
            too_early.set_value();
          }
        });
    const std::array<const Endpoint*, 1> endpoints = {&endpoint};
    FakeServer server(FakeServer::MultiItem(), {}, endpoints);
    const BatchRun run =
        RunText(server, Line("1", "{}") + Line("2", "{}") + Line("3", "{}"), options);
    EXPECT_EQ(run.summary.end.succeeded, 3) << "none is refused";
    EXPECT_EQ(begun, 3);
  }
}

TEST(LineWindow, AResponseThatIsKnownTakesTheRoomThatItHas) {
  const auto window = std::make_shared<LineWindow>(WindowLimits{.max_response_bytes = 100});
  const auto open = [&] {
    auto line = std::make_shared<OpenLine>(window, 1, RunPoint(), 0);
    EXPECT_TRUE(window->Open(line));
    return line;
  };
  const auto record = [](const std::string& custom_id) { return FormedRecord(custom_id, 200, ""); };
  const auto first = open();
  first->AwaitResponseRoom(100);
  const auto second = open();
  auto waits = std::async(std::launch::async, [&] { second->AwaitResponseRoom(90); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  first->Ready(record, 10);
  EXPECT_EQ(waits.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  second->Ready(record, 91);
  const auto third = open();
  waits = std::async(std::launch::async, [&] { third->AwaitResponseRoom(1); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout)
      << "it had more than was expected";
  window->Stop();
  waits.get();
  third->Ready(record, 1);
  // The window and its lines hold each other until the lines are taken.
  window->Close();
  while (window->Take([] { return std::optional<Clock::time_point>(); })) {
    window->Written();
  }
}

TEST(Batch, ALineOfAnotherKindOfModelIsRefusedWithoutRoom) {
  const FormingEndpoint endpoint([] {}, [] {}, 0, [] {}, {ModelKind::kEmbedder});
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer server(FakeServer::MultiItem(), {}, endpoints);
  const BatchRun run = RunText(server, Line("1", "{}"));
  ASSERT_EQ(run.lines.size(), 1U);
  const json& response = run.lines[0]["response"];
  EXPECT_EQ(response["status_code"], 400);
  EXPECT_EQ(response["body"]["reason"], "wrong_model_kind");
}

TEST(Batch, AResponseThatIsTooLargeByItselfIsRefused) {
  const FormingEndpoint endpoint([] {}, [] {}, 100'000);
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer server(FakeServer::MultiItem(), {}, endpoints);
  ServiceLines lines(server.service, /*max_response_bytes=*/99'999);
  std::istringstream in(Line("1", "{}"));
  std::ostringstream out;
  RunBatchOnStreams(in, out, lines, {});
  server.scheduler.WaitIdle();
  const json record = json::parse(out.str());
  const json& body = record["response"]["body"];
  EXPECT_EQ(body["code"], 413);
  EXPECT_EQ(body["reason"], "answer_too_large");
  EXPECT_EQ(body["message"], "The response would be too large: up to 100000 > 99999 bytes.");
}

class FullDisk : public std::streambuf {
 public:
  explicit FullDisk(int room) : room_(room) {}

 protected:
  int_type overflow(int_type c) override { return room_-- > 0 ? c : traits_type::eof(); }

 private:
  int room_;
};

TEST(Batch, AnOutputThatCannotBeWrittenEndsTheRun) {
  FakeServer server;
  std::string input;
  for (int i = 0; i < 3000; ++i) {
    input += Line(std::to_string(i), Body(i % 200));
  }
  for (const int room : {0, 1000}) {
    std::istringstream in(input);
    FullDisk disk(room);
    std::ostream out(&disk);
    const BatchSummary summary = RunBatchOnStreams(in, out, server.service, {});
    server.scheduler.WaitIdle();
    EXPECT_EQ(summary.ExitCode(), 1);
    EXPECT_EQ(summary.failure, "cannot write out: the stream failed");
  }
}

/// Input that reports when its last line has been read.
class ReportingInput : public std::streambuf {
 public:
  explicit ReportingInput(std::string text) : text_(std::move(text)) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

  std::shared_future<void> all_read() { return all_read_future_; }

 protected:
  int_type underflow() override {
    if (!std::exchange(reported_, true)) {
      all_read_.set_value();
    }
    return traits_type::eof();
  }

 private:
  std::string text_;
  std::promise<void> all_read_;
  std::shared_future<void> all_read_future_ = all_read_.get_future().share();
  bool reported_ = false;
};

/// A disk that is full as soon as something is to be written, which waits for an event.
class LateFullDisk : public std::streambuf {
 public:
  explicit LateFullDisk(std::shared_future<void> event) : event_(std::move(event)) {}

 protected:
  int_type overflow(int_type) override {
    event_.wait();
    return traits_type::eof();
  }

 private:
  std::shared_future<void> event_;
};

TEST(Batch, LinesThatWaitAreCancelledIfTheOutputFails) {
  FakeServer server;
  // The pass in flight belongs to no line, so every line with items waits.
  server.cluster.Hold();
  const Endpoint& endpoint = *server.service.FindByUrl("/v1/score");
  const auto other = std::make_shared<AskingCall>();
  Begin(server.service, endpoint, endpoint.FromJson(json::parse(Body(0))), other);
  // The first line is ready at once.
  std::string input = Line("first", R"({"query":[1],"items":[],"label_token_ids":[5]})");
  for (int i = 0; i < 30; ++i) {
    input += Line(std::to_string(i), Body(i));
  }
  ReportingInput reporting(input);
  std::istream in(&reporting);
  LateFullDisk disk(reporting.all_read());
  std::ostream out(&disk);
  auto run = std::async(std::launch::async,
                        [&] { return RunBatchOnStreams(in, out, server.service, {}); });
  EXPECT_EQ(run.wait_for(std::chrono::seconds(20)), std::future_status::ready)
      << "lines wait for the cluster, although nothing can be written";
  server.cluster.Release();
  EXPECT_EQ(run.get().failure, "cannot write out: the stream failed");
  EXPECT_TRUE(other->Wait().Respond());
  server.scheduler.WaitIdle();
  EXPECT_EQ(server.cluster.plans().size(), 1u) << "that of the other request";
}

/// A stream whose device fails in the middle.
class BrokenInput : public std::streambuf {
 public:
  explicit BrokenInput(std::string text) : text_(std::move(text)) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

 protected:
  int_type underflow() override { throw std::ios_base::failure("read error"); }

 private:
  std::string text_;
};

TEST(Batch, AReadErrorFailsTheRunAfterTheLinesThatWereRead) {
  FakeServer server;
  BrokenInput broken(Line("a", Body(1)) + "{\"custom");
  std::istream in(&broken);
  std::ostringstream out;
  const BatchSummary summary = RunBatchOnStreams(in, out, server.service, {});
  server.scheduler.WaitIdle();
  EXPECT_EQ(summary.ExitCode(), 1);
  EXPECT_EQ(summary.end.succeeded, 1);
  EXPECT_EQ(summary.end.error_records, 0);
  EXPECT_EQ(summary.failure, "cannot read in: the stream failed");
}

/// Input that gives one line at a time, each after the response to the line before.
class Conversation : public std::streambuf {
 public:
  explicit Conversation(int lines) : lines_(lines) {}

  void Responded() {
    const std::lock_guard lock(mutex_);
    ++responded_;
    changed_.notify_all();
  }

 protected:
  int_type underflow() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return responded_ >= asked_; });
    if (asked_ == lines_) {
      return traits_type::eof();
    }
    line_ = Line(std::to_string(asked_), Body(asked_));
    ++asked_;
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_.front());
  }

 private:
  const int lines_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0;
  int responded_ = 0;
  std::string line_;
};

/// Counts the responses that have been flushed.
class Responses : public std::stringbuf {
 public:
  explicit Responses(Conversation& conversation) : conversation_(conversation) {}

 protected:
  int sync() override {
    for (; flushed_ < str().size(); ++flushed_) {
      if (str()[flushed_] == '\n') {
        conversation_.Responded();
      }
    }
    return 0;
  }

 private:
  Conversation& conversation_;
  std::size_t flushed_ = 0;
};

TEST(Batch, ALineIsWrittenBeforeTheNextIsRead) {
  FakeServer server;
  Conversation conversation(5);
  Responses responses(conversation);
  std::istream in(&conversation);
  std::ostream out(&responses);
  EXPECT_EQ(RunBatchOnStreams(in, out, server.service, {}).end.succeeded, 5);
  server.scheduler.WaitIdle();
}

}  // namespace batch_window_test
}  // namespace scorecast::coordinator
