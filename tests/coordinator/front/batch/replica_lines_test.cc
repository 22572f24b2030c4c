// Batches that replicas compute, which come and go. The replicas are in the loop of the test, and
// say nothing of themselves in their replies, so that the records must not depend on them.

#include "coordinator/front/batch/replica_lines.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/front/replica_pool.h"
#include "coordinator/generate/seed.h"
#include "coordinator/transports/batch/batch.h"
#include "tests/coordinator/captured_log.h"
#include "tests/coordinator/front/fake_replica.h"
#include "tests/coordinator/transports/batch/stream_files.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace replica_lines_test {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSeed = 9;
constexpr std::int64_t kCreated = 1234;

std::string BodyOf(int line) { return R"({"n":)" + std::to_string(line) + "}"; }

std::string LinesOf(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += R"({"custom_id":")" + std::to_string(i) +
             R"(","method":"POST","url":"/v1/score","body":)" + BodyOf(i) + "}\n";
  }
  return lines;
}

std::string ResponseText(const std::string& body, std::uint64_t seed, std::uint64_t id,
                         std::int64_t created) {
  return R"({"of":)" + body + R"(,"seed":)" + std::to_string(seed) + R"(,"id":)" +
         std::to_string(id) + R"(,"created":)" + std::to_string(created) + "}";
}

v1::HttpReply JsonReply(int status, const std::string& body) {
  v1::HttpReply reply;
  reply.set_status(static_cast<std::uint32_t>(status));
  reply.set_body(body);
  v1::HttpField& field = *reply.add_fields();
  field.set_name("Content-Type");
  field.set_value("application/json");
  reply.set_last(true);
  return reply;
}

v1::HttpReply ReplyTo(const v1::Request& request) {
  const v1::Forwarded& forwarded = request.forwarded();
  return JsonReply(200, ResponseText(request.http().body(), forwarded.default_seed(),
                                     forwarded.response_id(), forwarded.created()));
}

/// The records of the lines from `begin` to `end`.
std::vector<std::string> RecordsOf(int begin, int end) {
  std::vector<std::string> records;
  for (int i = begin; i < end; ++i) {
    const std::uint64_t seed = DerivedSeed(kSeed, static_cast<std::uint64_t>(i));
    records.push_back(R"({"custom_id":")" + std::to_string(i) +
                      R"(","response":{"status_code":200,"body":)" +
                      ResponseText(BodyOf(i), seed, seed, kCreated) + R"(},"error":null})");
  }
  return records;
}

/// Keeps what it gets.
class Records : public BatchOutput {
 public:
  bool is_prompt() const override { return true; }
  void Write(std::span<const std::string> records, const RunPoint& /*end*/) override {
    if (fails) {
      throw std::runtime_error("no room");
    }
    all.insert(all.end(), records.begin(), records.end());
    count = all.size();
  }
  void BeginRecord(const RunPoint& /*end*/) override {}
  void WritePart(std::string_view /*part*/) override {}
  void EndRecord() override {}

  bool fails = false;
  std::vector<std::string> all;        ///< To be read when the run has ended.
  std::atomic<std::size_t> count = 0;  ///< Of these.
};

BatchOptions OptionsFrom(const RunPoint& begin) {
  BatchOptions options;
  options.seed = kSeed;
  options.created = kCreated;
  options.begin = begin;
  return options;
}

/// A run of a batch, on a thread of its own.
class Job {
 public:
  Job(const std::string& text, LineComputer& lines, const BatchOptions& options = OptionsFrom({}),
      bool output_fails = false)
      : stream_(text), input_(std::make_unique<StreamSource>(stream_), "in", 1 << 20) {
    EXPECT_TRUE(input_.SkipTo(options.begin.input_bytes));
    output_.fails = output_fails;
    batch_.emplace(input_, output_, lines, options);
    summary_ = std::async(std::launch::async, [this] { return batch_->Run(); });
  }
  ~Job() {
    if (summary_.valid()) {
      Interrupt();
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  bool has_ended() const {
    return summary_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  void Interrupt() { batch_->Interrupt(); }
  BatchSummary Summary() { return summary_.get(); }
  const Records& output() const { return output_; }

 private:
  std::istringstream stream_;
  InputFile input_;
  Records output_;
  std::optional<Batch> batch_;
  std::future<BatchSummary> summary_;
};

class ReplicaLinesTest : public ::testing::Test {
 protected:
  ReplicaLinesTest() {
    std::ofstream(directory_.path() / "list")
        << "a " << a_.address() << "\nb " << b_.address() << "\n";
    a_.reply = ReplyTo;
    b_.reply = ReplyTo;
    options_ = ForwarderOptionsOfLines();
    options_.outstanding = {.seconds = 0, .requests = 2};
    options_.refusal_pause = milliseconds(1);
  }
  ~ReplicaLinesTest() override {
    lines_.reset();
    thread_.reset();
  }

  bool Run(const std::function<bool()>& holds) { return RunUntil(io_, holds); }
  /// Connects to the replicas. `alone`: b is dead.
  void Start(bool alone = false) {
    if (alone) {
      b_.Die();
    }
    ReplicaOptions replicas;
    replicas.front_key = "key";
    replicas.first_pause = milliseconds(2);
    replicas.longest_pause = milliseconds(10);
    replicas.silence = std::chrono::hours(1);
    replicas.unknown_time = alone ? milliseconds(20) : milliseconds(60'000);
    thread_.emplace(replicas, options_, ReplicaList(directory_.path() / "list", {}));
    ASSERT_TRUE(Run([this] {
      thread_->pool().Run([this] {
        if (auto found = FindRunReplicas(thread_->pool().replicas())) {
          found_ = *found;
        }
      });
      return found_.has_value();
    }));
    lines_.emplace(thread_->pool(), *found_, "batch");
  }
  std::size_t Held() const { return a_.held.size() + b_.held.size(); }
  std::size_t Seen() const { return a_.seen.size() + b_.seen.size(); }
  void Hold(bool holds = true) {
    a_.holds = holds;
    b_.holds = holds;
  }
  void AnswerInReverse() {
    for (FakeReplica* const replica : {&a_, &b_}) {
      std::ranges::reverse(replica->held);
      replica->AnswerAll();
    }
  }
  /// Lets the replicas answer, and say their state, until the run has ended.
  BatchSummary End(Job& job) {
    const bool has_ended = Run([&] {
      AnswerInReverse();
      a_.SayStatus();
      b_.SayStatus();
      return job.has_ended();
    });
    EXPECT_TRUE(has_ended);
    if (!has_ended) {
      job.Interrupt();
    }
    return job.Summary();
  }

  const CapturedLog log_;  ///< Before all threads.
  const reference::TempDirectory directory_;
  boost::asio::io_context io_;
  FakeReplica a_{io_, "a"};
  FakeReplica b_{io_, "b"};
  ForwarderOptions options_;
  std::optional<ReplicaThread> thread_;
  std::optional<RunReplicas> found_;
  std::optional<ReplicaLines> lines_;
};

TEST_F(ReplicaLinesTest, RecordsAreTheRepliesInTheOrderOfTheInput) {
  Hold();
  Start();
  Job job(LinesOf(40), *lines_);
  EXPECT_EQ(End(job).ExitCode(), 0);
  EXPECT_EQ(job.output().all, RecordsOf(0, 40));
  EXPECT_EQ(Seen(), 40U) << "each was sent once";
  EXPECT_FALSE(a_.seen.empty());
  EXPECT_FALSE(b_.seen.empty());
  for (const FakeReplica* const replica : {&a_, &b_}) {
    for (const v1::Request& request : replica->seen) {
      EXPECT_EQ(request.http().method(), "POST");
      EXPECT_EQ(request.http().path(), "/v1/score");
      EXPECT_EQ(request.http().content_type(), "application/json");
      EXPECT_EQ(request.forwarded().client(), "batch");
      EXPECT_EQ(request.forwarded().waited_us(), 0);
    }
  }
}

TEST_F(ReplicaLinesTest, ABodyIsSentWithAllOfItsMembers) {
  Start();
  const std::string body = R"({"a":"\u00e9","a":[1,2.5,-0.0,1e-7,18446744073709551615],"b":null,)"
                           R"("c":[0.01207,1732800000000000.0,123456789012345678901234567890]})";
  Job job(R"({"custom_id":"x","method":"POST","url":"/inference/some/model","body":)" + body +
              "}\n"
              R"({"custom_id":"y","method":"POST","url":"/v1/score"})"
              "\n",
          *lines_);
  EXPECT_EQ(End(job).ExitCode(), 0);
  std::vector<std::string> sent;
  for (const FakeReplica* const replica : {&a_, &b_}) {
    for (const v1::Request& request : replica->seen) {
      sent.push_back(request.http().path() + " " + request.http().body());
    }
  }
  EXPECT_THAT(sent, ::testing::UnorderedElementsAre(
                        "/inference/some/model "
                        "{\"a\":\"\u00e9\",\"a\":[1,2.5,-0.0,1e-07,18446744073709551615],"
                        "\"b\":null,"
                        "\"c\":[0.01207,1732800000000000.0,123456789012345678901234567890]}",
                        "/v1/score null"));
}

TEST_F(ReplicaLinesTest, LinesThatAreNoRequestsAreNotSent) {
  Start();
  Job job("nonsense\n" + LinesOf(1) +
              R"({"custom_id":"x","method":"POST","url":"/v1/nothing","body":{}})"
              "\n",
          *lines_);
  EXPECT_EQ(End(job).ExitCode(), 3);
  ASSERT_EQ(job.output().all.size(), 3U);
  EXPECT_EQ(json::parse(job.output().all[0])["error"]["reason"], "invalid_json");
  EXPECT_EQ(json::parse(job.output().all[2])["error"]["reason"], "unknown_url");
  EXPECT_EQ(Seen(), 1U);
}

TEST_F(ReplicaLinesTest, ARefusalOfTheRequestIsItsRecord) {
  Start(/*alone=*/true);
  a_.reply = [](const v1::Request&) { return JsonReply(400, R"({"code":400})"); };
  Job job(LinesOf(1), *lines_);
  const BatchSummary summary = End(job);
  EXPECT_EQ(summary.ExitCode(), 3);
  EXPECT_EQ(summary.end.refused, 1);
  EXPECT_THAT(job.output().all,
              ElementsAre(R"({"custom_id":"0","response":{"status_code":400,"body":)"
                          R"({"code":400}},"error":null})"));
}

TEST_F(ReplicaLinesTest, LinesOfALostReplicaAreSentToAnother) {
  Hold();
  Start();
  Job job(LinesOf(30), *lines_);
  ASSERT_TRUE(Run([this] { return a_.held.size() == 2 && b_.held.size() == 2; }));
  a_.Die();
  EXPECT_EQ(End(job).ExitCode(), 0);
  EXPECT_EQ(job.output().all, RecordsOf(0, 30));
  EXPECT_EQ(a_.seen.size(), 2U);
  EXPECT_EQ(b_.seen.size(), 30U) << "with those that the other had";
}

TEST_F(ReplicaLinesTest, WithoutReplicasTheRunWaitsAndTheLogSaysSo) {
  Hold();
  Start();
  Job job(LinesOf(30), *lines_);
  ASSERT_TRUE(Run([this] { return Held() == 4; }));
  a_.Die();
  b_.Die();
  ASSERT_TRUE(Run([this] {
    return log_.text().find("no replica of \"m\" can be used now") != std::string::npos;
  }));
  EXPECT_FALSE(job.has_ended());
  Hold(false);
  b_.Revive();
  EXPECT_EQ(End(job).ExitCode(), 0);
  EXPECT_EQ(job.output().all, RecordsOf(0, 30));
  EXPECT_THAT(log_.text(), HasSubstr("a replica of \"m\" can be used again"));
}

TEST_F(ReplicaLinesTest, RefusalsOfFullReplicasAreNoRecords) {
  Start();
  std::size_t refusals = 0;
  for (FakeReplica* const replica : {&a_, &b_}) {
    replica->reply = [&](const v1::Request& request) {
      return Seen() % 3 != 0 && ++refusals < 20 ? JsonReply(Seen() % 2 == 0 ? 429 : 503, "{}")
                                                : ReplyTo(request);
    };
  }
  Job job(LinesOf(30), *lines_);
  EXPECT_EQ(End(job).ExitCode(), 0);
  EXPECT_EQ(job.output().all, RecordsOf(0, 30));
  EXPECT_GE(refusals, 10U);
}

TEST_F(ReplicaLinesTest, AStreamIsRefusedAsByABatchWithoutReplicas) {
  Start(/*alone=*/true);
  for (const bool is_last : {false, true}) {
    a_.reply = [&](const v1::Request&) {
      v1::HttpReply reply = JsonReply(200, "data: [DONE]\n\n");
      reply.mutable_fields(0)->set_value("text/event-stream; charset=utf-8");
      reply.set_last(is_last);
      return reply;
    };
    Job job(LinesOf(1), *lines_);
    EXPECT_EQ(End(job).ExitCode(), 3);
    ASSERT_EQ(job.output().all.size(), 1U);
    const json response = json::parse(job.output().all[0])["response"];
    EXPECT_EQ(response["status_code"], 400);
    EXPECT_EQ(response["body"]["reason"], "stream_not_here");
  }
  EXPECT_TRUE(Run([this] { return a_.cancelled.size() == 1; })) << "of the one that went on";
}

TEST_F(ReplicaLinesTest, AReplyThatIsNoJsonEndsTheRunWithoutARecord) {
  Start(/*alone=*/true);
  for (const std::string& body : {std::string(), std::string("{\n}")}) {
    a_.reply = [&](const v1::Request&) { return JsonReply(200, body); };
    Job job(LinesOf(3), *lines_);
    const BatchSummary summary = End(job);
    EXPECT_EQ(summary.ExitCode(), 75);
    ASSERT_TRUE(summary.left_because);
    EXPECT_EQ(summary.left_because->reason, "bad_reply");
    EXPECT_THAT(job.output().all, IsEmpty());
    lines_.emplace(thread_->pool(), *found_, "batch");
  }
}

TEST_F(ReplicaLinesTest, ALineWithWhichReplicasAreLostAgainAndAgainEndsTheRun) {
  Hold();
  Start(/*alone=*/true);
  Job job(LinesOf(1), *lines_);
  for (int deaths = 0; deaths < 3; ++deaths) {
    ASSERT_TRUE(Run([this] { return a_.held.size() == 1; }));
    a_.Die();
    a_.Revive();
  }
  const BatchSummary summary = End(job);
  EXPECT_EQ(summary.ExitCode(), 75);
  ASSERT_TRUE(summary.left_because);
  EXPECT_EQ(summary.left_because->reason, "replica_lost");
  EXPECT_THAT(job.output().all, IsEmpty());
}

TEST_F(ReplicaLinesTest, AnInterruptedRunGoesOnBehindItsLastRecord) {
  Hold();
  Start(/*alone=*/true);
  Job first(LinesOf(20), *lines_);
  ASSERT_TRUE(Run([this] { return a_.held.size() == 2; }));
  const v1::Request request = a_.held.front();
  ASSERT_EQ(request.http().body(), BodyOf(0));
  a_.held.erase(a_.held.begin());
  a_.Answer(request);
  ASSERT_TRUE(Run([&] { return first.output().count == 1; }));
  first.Interrupt();
  ASSERT_TRUE(Run([&] { return first.has_ended(); })) << "what is in flight is not awaited";
  const BatchSummary summary = first.Summary();
  EXPECT_EQ(summary.ExitCode(), 75);
  EXPECT_FALSE(summary.left_because);
  EXPECT_EQ(summary.end.records(), 1);
  EXPECT_EQ(first.output().all, RecordsOf(0, 1));
  EXPECT_TRUE(Run([this] { return Held() == 0; })) << "the replica is told";

  Hold(false);
  lines_.emplace(thread_->pool(), *found_, "batch");
  Job second(LinesOf(20), *lines_, OptionsFrom(summary.end));
  EXPECT_EQ(End(second).ExitCode(), 0);
  EXPECT_EQ(second.output().all, RecordsOf(1, 20));
}

TEST_F(ReplicaLinesTest, RunsEndAndReplicasDieAtAnyMoment) {
  Start();
  constexpr int kLines = 60;
  std::vector<std::string> all;
  RunPoint begin;
  int runs = 0;
  for (int code = 75; code == 75; ++runs) {
    ASSERT_LT(runs, 1000);
    lines_.emplace(thread_->pool(), *found_, "batch");
    Job job(LinesOf(kLines), *lines_, OptionsFrom(begin));
    io_.restart();
    // Later rounds have more time, so that the runs get to the end on a busy machine too.
    io_.run_for(std::chrono::microseconds(100 * (runs % 20) * (1 + runs / 20)));
    FakeReplica& dies = runs % 2 == 0 ? a_ : b_;
    dies.Die();
    dies.Revive();
    io_.restart();
    io_.run_for(std::chrono::microseconds(200 * (1 + runs / 20)));
    job.Interrupt();
    const BatchSummary summary = End(job);
    code = summary.ExitCode();
    begin = summary.end;
    all.insert(all.end(), job.output().all.begin(), job.output().all.end());
  }
  EXPECT_EQ(all, RecordsOf(0, kLines));
}

TEST_F(ReplicaLinesTest, LinesInFlightAreCancelledIfTheOutputFails) {
  Hold();
  Start(/*alone=*/true);
  Job job(LinesOf(20), *lines_, OptionsFrom({}), /*output_fails=*/true);
  ASSERT_TRUE(Run([this] { return a_.held.size() == 2; }));
  const v1::Request request = a_.held.front();
  a_.held.erase(a_.held.begin());
  a_.Answer(request);
  ASSERT_TRUE(Run([&] { return job.has_ended(); }));
  EXPECT_EQ(job.Summary().failure, "no room");
  EXPECT_TRUE(Run([this] { return Held() == 0; }));
}

TEST_F(ReplicaLinesTest, OnlyReplicasWithTheSameFactsAreUsed) {
  Start(/*alone=*/true);
  b_.hello.set_version("2.0");
  b_.Revive();
  ASSERT_TRUE(
      Run([this] { return log_.text().find("replica b is not used") != std::string::npos; }));
  Hold();
  Job job(LinesOf(10), *lines_);
  ASSERT_TRUE(Run([this] { return a_.held.size() == 2; }));
  a_.Die();
  ASSERT_TRUE(Run([this] {
    return log_.text().find("no replica of \"m\" can be used now") != std::string::npos;
  }));
  EXPECT_THAT(b_.seen, IsEmpty());
  b_.hello.set_version("1.0");
  b_.Die();
  b_.Revive();
  EXPECT_EQ(End(job).ExitCode(), 0);
  EXPECT_EQ(job.output().all, RecordsOf(0, 10));
}

TEST_F(ReplicaLinesTest, ALineIsNotSentBeforeThereIsRoomForItsResponse) {
  options_.outstanding = {.seconds = 0, .requests = 100};
  Hold();
  Start(/*alone=*/true);
  BatchOptions options = OptionsFrom({});
  options.window.max_response_bytes = 1;  // There is room for one, whatever it has.
  Job job(LinesOf(4), *lines_, options);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Run([this] { return !a_.held.empty(); }));
    io_.restart();
    io_.run_for(milliseconds(20));
    EXPECT_EQ(a_.held.size(), 1U);
    a_.AnswerAll();
  }
  EXPECT_EQ(End(job).ExitCode(), 0);
}

}  // namespace replica_lines_test
}  // namespace scorecast::coordinator
