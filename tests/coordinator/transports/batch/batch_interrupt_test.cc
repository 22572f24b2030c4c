// Batches that end early, that go on where an earlier run ended, and that share an input.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/throwing_endpoint.h"
#include "tests/coordinator/transports/batch/stream_files.h"
#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {
namespace batch_interrupt_test {

using nlohmann::json;
using scorecast::testing::Eventually;
using ::testing::IsEmpty;

/// A line of 5 rows. A pass of the fake server has 64.
std::string Line(int query) {
  return R"({"custom_id":"same","method":"POST","url":"/v1/score","body":{"query":[)" +
         std::to_string(query) + R"(,7],"items":[[1],[2,3]],"label_token_ids":[5,6],"model":")" +
         std::to_string(query) + "\"}}\n";
}

std::string Lines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += Line(i) + (i % 5 == 0 ? "\n" : "");
  }
  return lines;
}

/// Keeps what it gets.
class Kept : public BatchOutput {
 public:
  explicit Kept(bool is_prompt = true) : is_prompt_(is_prompt) {}

  bool is_prompt() const override { return is_prompt_; }
  void Write(std::span<const std::string> records, const RunPoint& end) override {
    ++writes;
    for (const std::string& record : records) {
      json parsed = json::parse(record);
      if (parsed["response"].is_object() && parsed["response"]["body"].contains("usage")) {
        parsed["response"]["body"].erase("timings");
        parsed["response"]["body"]["usage"].erase("cached_tokens");
      }
      all.push_back(parsed.dump());
    }
    EXPECT_EQ(end.records(), static_cast<std::int64_t>(all.size()) + before);
    ends.push_back(end);
  }

  void BeginRecord(const RunPoint& end) override {
    ++long_records;
    long_end_ = end;
  }
  void WritePart(std::string_view part) override { long_record_ += part; }
  void EndRecord() override { Write(std::vector{std::exchange(long_record_, {})}, long_end_); }

  int long_records = 0;
  std::int64_t before = 0;  ///< Records of earlier runs.
  std::atomic<int> writes = 0;
  std::vector<std::string> all;
  std::vector<RunPoint> ends;

 private:
  const bool is_prompt_;
  std::string long_record_;
  RunPoint long_end_;
};

/// A batch on a text.
struct Bench {
  explicit Bench(const std::string& text, BatchOptions options = {}, bool is_prompt = true)
      : stream(text),
        input(std::make_unique<StreamSource>(stream), "in", kDefaultMaxRequestBytes),
        output(is_prompt) {
    EXPECT_TRUE(input.SkipTo(options.begin.input_bytes));
    output.before = options.begin.records();
    batch.emplace(input, output, lines, options);
  }

  BatchSummary Run() {
    BatchSummary summary = batch->Run();
    server.scheduler.WaitIdle();
    return summary;
  }

  FakeServer server;
  ServiceLines lines{server.service};
  std::istringstream stream;
  InputFile input;
  Kept output;
  std::optional<Batch> batch;
};

std::vector<std::string> Undisturbed(const std::string& text) {
  Bench bench(text);
  EXPECT_EQ(bench.Run().ExitCode(), 0);
  return bench.output.all;
}

TEST(BatchInterrupt, ThePassInFlightIsWrittenAndTheRunGoesOnBehindIt) {
  const std::string text = Lines(100);
  const std::vector<std::string> expected = Undisturbed(text);
  ASSERT_EQ(expected.size(), 100U);

  Bench first(text);
  first.server.cluster.Hold();
  auto run = std::async(std::launch::async, [&] { return first.Run(); });
  // The first pass has the first line alone.
  EXPECT_TRUE(Eventually([&] { return first.server.cluster.plans().size() == 1; }));
  first.batch->Interrupt();
  EXPECT_EQ(run.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  first.server.cluster.Release();
  const BatchSummary summary = run.get();
  EXPECT_EQ(summary.ExitCode(), 75);
  EXPECT_TRUE(summary.is_interrupted);
  EXPECT_FALSE(summary.left_because);
  EXPECT_EQ(summary.failure, "");
  EXPECT_EQ(summary.end.records(), 1);
  EXPECT_EQ(summary.end.lines, 1);
  EXPECT_EQ(first.server.cluster.plans().size(), 1U);

  BatchOptions options;
  options.begin = summary.end;
  Bench second(text, options);
  const BatchSummary rest = second.Run();
  EXPECT_EQ(rest.ExitCode(), 0);
  EXPECT_EQ(rest.end.records(), 100);
  EXPECT_EQ(rest.end.input_bytes, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(rest.end.input_digest, proto::DigestOf(text));
  std::vector<std::string> all = first.output.all;
  all.insert(all.end(), second.output.all.begin(), second.output.all.end());
  EXPECT_EQ(all, expected);
}

TEST(BatchInterrupt, MayComeAtAnyMoment) {
  const std::string text = Lines(60);
  const std::vector<std::string> expected = Undisturbed(text);
  std::vector<std::string> all;
  RunPoint begin;
  int runs = 0;
  for (int code = 75; code == 75; ++runs) {
    ASSERT_LT(runs, 1000);
    BatchOptions options;
    options.begin = begin;
    Bench bench(text, options);
    auto run = std::async(std::launch::async, [&] { return bench.Run(); });
    // Later rounds have more time, so that the runs get to the end on a busy machine too.
    std::this_thread::sleep_for(std::chrono::microseconds(100 * (runs % 30) * (1 + runs / 30)));
    bench.batch->Interrupt();
    const BatchSummary summary = run.get();
    code = summary.ExitCode();
    begin = summary.end;
    all.insert(all.end(), bench.output.all.begin(), bench.output.all.end());
  }
  EXPECT_EQ(all, expected);
}

TEST(BatchInterrupt, BeforeTheRunNothingIsRead) {
  Bench bench(Lines(3));
  bench.batch->Interrupt();
  const BatchSummary summary = bench.Run();
  EXPECT_EQ(summary.ExitCode(), 75);
  EXPECT_EQ(summary.end, RunPoint());
  EXPECT_THAT(bench.output.all, IsEmpty());
}

TEST(BatchInterrupt, EndsAnInputThatWaitsForBytes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  /// As long as the other end is open, a read waits.
  class PipeSource : public ByteSource {
   public:
    explicit PipeSource(int fd) : fd_(fd) {}
    proto::Expected<std::size_t, std::string> Read(std::span<char> to) override {
      return static_cast<std::size_t>(std::max<ssize_t>(read(fd_, to.data(), to.size()), 0));
    }

   private:
    const int fd_;
  };
  FakeServer server;
  InputFile input(std::make_unique<PipeSource>(ends[0]), "in", kDefaultMaxRequestBytes);
  Kept output;
  BatchOptions options;
  std::atomic<bool> is_open = true;
  options.stop_reading = [&] {
    if (is_open.exchange(false)) {
      close(ends[1]);
    }
  };
  ServiceLines lines(server.service);
  Batch batch(input, output, lines, options);
  auto run = std::async(std::launch::async, [&] { return batch.Run(); });
  const std::string text = Line(1) + R"({"custom_id")";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_TRUE(Eventually([&] { return output.writes == 1; }));
  batch.Interrupt();
  EXPECT_EQ(run.get().ExitCode(), 75);
  server.scheduler.WaitIdle();
  EXPECT_EQ(output.all.size(), 1U) << "half a line is no line";
  close(ends[0]);
}

TEST(BatchInterrupt, ARefusalThatIsTheServersStateIsNotWritten) {
  const std::string tokenize =
      R"({"custom_id":"a","method":"POST","url":"/tokenize","body":{"prompt":"ab"}})"
      "\n";
  for (const ThrowingEndpoint::Where where :
       {ThrowingEndpoint::Where::kParsing, ThrowingEndpoint::Where::kPreparing,
        ThrowingEndpoint::Where::kResponding}) {
    FakeServer whole;
    const ThrowingEndpoint throwing(where);
    const std::array<const Endpoint*, 2> endpoints = {whole.service.FindByUrl("/tokenize"),
                                                      &throwing};
    FakeServer server(FakeServer::MultiItem(), {}, endpoints);
    std::istringstream stream(tokenize + tokenize + Line(1) + tokenize);
    InputFile input(std::make_unique<StreamSource>(stream), "in", kDefaultMaxRequestBytes);
    Kept output;
    ServiceLines lines(server.service);
    const BatchSummary summary = Batch(input, output, lines, {}).Run();
    server.scheduler.WaitIdle();
    EXPECT_EQ(summary.ExitCode(), 75);
    ASSERT_TRUE(summary.left_because);
    EXPECT_EQ(summary.left_because->code, 503);
    EXPECT_EQ(summary.end.records(), 2);
    EXPECT_EQ(output.all.size(), 2U) << "nor what comes behind it";
  }
}

TEST(BatchOutput, ThatIsNotPromptGetsManyRecordsAtOnce) {
  Bench bench(Lines(200), {}, /*is_prompt=*/false);
  EXPECT_EQ(bench.Run().ExitCode(), 0);
  EXPECT_EQ(bench.output.all.size(), 200U);
  EXPECT_LT(bench.output.writes, 20) << "one a second, and one at the end";
}

TEST(BatchOutput, ALongRecordIsWrittenInParts) {
  const std::string long_id(std::size_t{5} << 20, 'x');
  const std::string text = Line(1) + R"({"custom_id":")" + long_id + "\"}\n" + Line(2) + Line(3);
  for (const bool is_prompt : {true, false}) {
    Bench bench(text, {}, is_prompt);
    const BatchSummary summary = bench.Run();
    EXPECT_EQ(summary.ExitCode(), 3);
    EXPECT_EQ(summary.end.records(), 4);
    EXPECT_EQ(bench.output.long_records, 1);
    ASSERT_EQ(bench.output.all.size(), 4U);
    EXPECT_EQ(json::parse(bench.output.all[1])["custom_id"], long_id);
    EXPECT_EQ(bench.output.ends[1].records(), 2) << "what is before it is written first";
    EXPECT_EQ(json::parse(bench.output.all[2])["response"]["status_code"], 200);
  }
}

TEST(LineShare, SharesTogetherHaveEachLineOnceWithTheSameSeeds) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += i % 4 == 1 ? "nonsense\n\n"
                       : R"({"custom_id":"a","method":"POST","url":"/v1/chunked","body":)"
                         R"({"prompt":"p","max_new_tokens":3,"temperature":1.5}})"
                         "\n";
  }
  const auto run = [&](LineShare share) {
    BatchOptions options;
    options.seed = 9;
    options.share = share;
    Bench bench(text, options);
    const BatchSummary summary = bench.Run();
    EXPECT_EQ(summary.end.lines, 20);
    EXPECT_EQ(summary.end.input_bytes, static_cast<std::int64_t>(text.size()));
    return bench.output.all;
  };
  const std::vector<std::string> whole = run({});
  ASSERT_EQ(whole.size(), 20U);
  const std::array<std::vector<std::string>, 3> shares = {run({0, 3}), run({1, 3}), run({2, 3})};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ASSERT_LT(i / 3, shares[i % 3].size());
    EXPECT_EQ(shares[i % 3][i / 3], whole[i]);
  }
  EXPECT_NE(whole[0], whole[2]) << "seeds follow from lines, not from custom_id";
}

}  // namespace batch_interrupt_test
}  // namespace scorecast::coordinator
