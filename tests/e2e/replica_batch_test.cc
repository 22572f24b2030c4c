// `scorecast batch --replicas`: services that come and go compute a file. Its output must be that
// of a batch that computes it by itself.

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/eventually.h"
#include "tests/e2e/models.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace replica_batch_test {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kSomeFailed = 3;
constexpr int kInterrupted = 75;
constexpr int kLines = 600;

/// Requests of several kinds, some of them sampled without a seed, and some lines that get errors.
std::string Requests() {
  std::string input;
  for (int i = 0; i < kLines; ++i) {
    const std::string id = std::to_string(i);
    const std::string text = "The number " + id + " is";
    switch (i % 5) {
      case 0:
        input += RequestLine(
            id, ToCompletions({{"prompt", text}, {"max_tokens", 200}, {"temperature", 1.5}}));
        break;
      case 1:
        input += RequestLine(
            id, ToChunked({{"prompt", text}, {"max_new_tokens", 6}, {"temperature", 1.5}}));
        break;
      case 2:
        input +=
            RequestLine(id, ToCompletions({{"prompt", text}, {"max_tokens", 1}, {"stream", true}}));
        break;
      case 3:
        input += "nonsense " + id + "\n \n";
        break;
      default:
        // So many tokens that the run takes a while.
        input += ScoreLine(id, i % 50 != 4 ? HeavyBody() : nlohmann::json{{"query", text}});
    }
  }
  return input;
}

std::vector<std::string> StableLinesOf(const std::filesystem::path& path) {
  BatchRun run;
  run.lines = LinesOf(ReadFile(path));
  return run.Stable();
}

class ReplicaBatch : public ::testing::Test {
 protected:
  ReplicaBatch() {
    const std::vector<std::string> keys = LinesOf(RunScorecast({"key", "new", "front"}).out);
    WriteFile(directory_ / "key", keys.at(0) + "\n");
    WriteFile(directory_ / "fronts", keys.at(1) + "\n");
    WriteFile(directory_ / "in.jsonl", Requests());
    std::filesystem::create_directory(directory_ / "replicas");
  }

  std::unique_ptr<Service> StartService(const std::string& name,
                                        std::vector<std::string> flags = {}) const {
    flags.insert(flags.end(), {"--front-key", (directory_ / "fronts").string(), "--address-file",
                               (directory_ / "replicas" / name).string()});
    return std::make_unique<Service>(BatchCommand{model_, flags});
  }
  Command BatchBy(const std::vector<std::string>& what, const std::filesystem::path& output) const {
    std::vector<std::string> arguments = {
        "batch", "--input", directory_ / "in.jsonl", "--output", output.string(), "--seed", "11"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    Command command = ScorecastCommand(arguments);
    command.timeout = std::chrono::seconds(240);
    return command;
  }
  Command BatchByReplicas() const {
    return BatchBy({"--replicas", directory_ / "replicas", "--front-key", directory_ / "key"},
                   output_);
  }
  /// What a batch without replicas writes.
  std::vector<std::string> Expected() const {
    const std::filesystem::path output = directory_ / "expected.jsonl";
    const ProcessResult result = scorecast::testing::Run(BatchBy({"--model", model_}, output));
    EXPECT_EQ(result.exit_code, kSomeFailed) << result.err;
    return StableLinesOf(output);
  }
  bool AwaitRecords(std::size_t count) const {
    return Eventually([&] {
      return std::filesystem::exists(output_) && LinesOf(ReadFile(output_)).size() >= count;
    });
  }

  const std::filesystem::path directory_ = NewDirectory();
  const std::filesystem::path model_ = MakeModel("digits");
  const std::filesystem::path output_ = directory_ / "out.jsonl";
};

TEST_F(ReplicaBatch, OutlivesAServiceThatIsKilled) {
  const auto first = StartService("a");
  const auto second = StartService("b");
  Process batch(BatchByReplicas());
  ASSERT_TRUE(AwaitRecords(1));
  kill(second->process().pid(), SIGKILL);
  const ProcessResult result = batch.Wait();
  EXPECT_EQ(result.exit_code, kSomeFailed) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("replica b at [0-9.:]+: it closed the connection"))
      << "it was killed too late";
  const std::vector<std::string> records = StableLinesOf(output_);
  EXPECT_EQ(records.size(), static_cast<std::size_t>(kLines));
  EXPECT_EQ(records, Expected());
}

TEST_F(ReplicaBatch, WaitsForServicesAndGoesOnAfterASignal) {
  Process batch(BatchByReplicas());
  EXPECT_NE(batch.ErrorLineWith("waiting until the replicas"), "");
  auto service = StartService("a");
  ASSERT_TRUE(AwaitRecords(1));
  kill(service->process().pid(), SIGKILL);
  EXPECT_NE(batch.ErrorLineWith("can be used now"), "");
  service = nullptr;
  service = StartService("a");
  EXPECT_NE(batch.ErrorLineWith("can be used again"), "");
  kill(batch.pid(), SIGTERM);
  const ProcessResult ended = batch.Wait();
  EXPECT_EQ(ended.exit_code, kInterrupted) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(": the same command goes on"));
  const std::string written = ReadFile(output_);
  const ProcessResult result = scorecast::testing::Run(BatchByReplicas());
  EXPECT_EQ(result.exit_code, kSomeFailed) << result.err;
  EXPECT_THAT(result.err, HasSubstr("going on behind record "));
  EXPECT_EQ(ReadFile(output_).substr(0, written.size()), written);
  EXPECT_EQ(StableLinesOf(output_), Expected());
}

TEST_F(ReplicaBatch, OfOtherServicesDoesNotGoOn) {
  auto service = StartService("a");
  Process batch(BatchByReplicas());
  ASSERT_TRUE(AwaitRecords(1));
  kill(batch.pid(), SIGTERM);
  ASSERT_EQ(batch.Wait().exit_code, kInterrupted);
  service = nullptr;
  service = StartService("a", {"--one-by-one"});
  const ProcessResult result = scorecast::testing::Run(BatchByReplicas());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot go on: the replicas' fingerprint was "));
}

TEST_F(ReplicaBatch, FlagsOfAnEngineAreRefusedInOneLine) {
  const ProcessResult result = scorecast::testing::Run(BatchBy(
      {"--replicas", directory_ / "replicas", "--front-key", directory_ / "key", "--model", model_},
      output_));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err,
            "scorecast: --replicas cannot be given with --model: the services compute, and have "
            "flags of their own (see --help)\n");
}

}  // namespace replica_batch_test
}  // namespace scorecast::testing
