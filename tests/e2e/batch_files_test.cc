// Compressed inputs and outputs of `scorecast batch`.

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coordinator/transports/batch/files/compressor.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "tests/e2e/models.h"
#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace batch_files_test {

using coordinator::Compression;
using coordinator::InputFile;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kLines = 40;

std::string Requests() {
  std::string input;
  for (int i = 0; i < kLines; ++i) {
    input += ScoreLine(std::to_string(i),
                       {{"query", {1, i}}, {"items", {{3}, {4, i}}}, {"label_token_ids", {1, 2}}});
  }
  return input;
}

/// Two members or frames, cut in the middle of a line.
std::string Compressed(Compression compression, const std::string& text) {
  const auto compressor = coordinator::MakeCompressor(compression);
  std::string bytes;
  compressor->Add(text.substr(0, text.size() / 2), bytes);
  compressor->End(bytes);
  compressor->Add(text.substr(text.size() / 2), bytes);
  compressor->End(bytes);
  return bytes;
}

BatchRun RunOn(const std::filesystem::path& input, const std::filesystem::path& output) {
  static const std::filesystem::path model = MakeModel("");
  const ProcessResult result = RunScorecast(
      {"batch", "--model", model.string(), "--input", input.string(), "--output", output.string()});
  BatchRun run;
  run.exit_code = result.exit_code;
  run.err = result.err;
  InputFile records(output, std::int64_t{1} << 30);
  std::string line;
  while (records.Next(line) == InputFile::Result::kLine) {
    run.lines.push_back(line);
  }
  EXPECT_EQ(records.failure(), "");
  return run;
}

TEST(BatchFiles, MayBeCompressed) {
  const std::filesystem::path dir = NewDirectory();
  WriteFile(dir / "in.jsonl", Requests());
  WriteFile(dir / "in.gz", Compressed(Compression::kGzip, Requests()));
  WriteFile(dir / "in.without.a.name", Compressed(Compression::kZstd, Requests()));
  const BatchRun plain = RunOn(dir / "in.jsonl", dir / "out.jsonl");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(plain.lines.size(), kLines);
  for (const auto& [input, output, magic] :
       {std::tuple{"in.gz", "out.jsonl.zst", "\x28\xB5\x2F\xFD"},
        std::tuple{"in.without.a.name", "out.jsonl.gz", "\x1F\x8B"}}) {
    const BatchRun run = RunOn(dir / input, dir / output);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.Stable(), plain.Stable());
    EXPECT_TRUE(ReadFile(dir / output).starts_with(magic));
  }
}

TEST(BatchFiles, AnInputThatIsCutOffFailsTheRunAfterItsLines) {
  const std::filesystem::path dir = NewDirectory();
  const std::string whole = Compressed(Compression::kGzip, Requests());
  WriteFile(dir / "in.jsonl.gz", whole.substr(0, whole.size() * 3 / 4));
  const BatchRun run = RunOn(dir / "in.jsonl.gz", dir / "out.jsonl");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("scorecast: cannot read " + (dir / "in.jsonl.gz").string() +
                                 ": its compressed data ends too early\n"));
  EXPECT_GE(run.lines.size(), kLines / 2 - 1U);
  EXPECT_LT(run.lines.size(), std::size_t{kLines});
  for (std::size_t line = 0; line < run.lines.size(); ++line) {
    EXPECT_EQ(run.StatusCode(line), 200) << "half a line is no line";
  }
}

TEST(BatchFiles, AFileMustBeWhatItsNameSays) {
  const std::filesystem::path dir = NewDirectory();
  WriteFile(dir / "in.zst", Requests());
  const BatchRun run = RunOn(dir / "in.zst", dir / "out.jsonl");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("it is no zstd file, although its name says so\n"));
  EXPECT_TRUE(run.lines.empty());
}

/// The largest memory, in MiB, of a run whose output is discarded.
std::int64_t PeakMemory(const std::filesystem::path& model, const std::filesystem::path& input) {
  const pid_t pid = fork();
  if (pid == 0) {
    execl(kScorecastProgram, kScorecastProgram, "batch", "--model", model.c_str(), "--input",
          input.c_str(), "--output", "/dev/null", "--log-level", "error", nullptr);
    _exit(127);
  }
  int status = 0;
  struct rusage usage {};
  EXPECT_EQ(wait4(pid, &status, 0, &usage), pid);
  EXPECT_EQ(status, 0);
  return usage.ru_maxrss / 1024;
}

TEST(BatchFiles, ALongResponseIsNotInMemoryAsAWhole) {
  constexpr int kLabels = 100'000;
  constexpr std::int64_t kItems = 128;
  const std::filesystem::path dir = NewDirectory();
  const std::filesystem::path model = MakeModel("", 64, kLabels + 100);
  std::vector<int> labels(kLabels);
  std::iota(labels.begin(), labels.end(), 10);
  const auto body = [&](std::int64_t items) {
    std::vector<std::vector<int>> texts;
    for (int i = 0; i < items; ++i) {
      texts.push_back({i + 5});
    }
    return json{{"query", {1}}, {"items", texts}, {"label_token_ids", labels}};
  };
  WriteFile(dir / "short.jsonl", ScoreLine("a", body(1)));
  WriteFile(dir / "long.jsonl", ScoreLine("a", body(kItems)));
  const std::int64_t more =
      PeakMemory(model, dir / "long.jsonl") - PeakMemory(model, dir / "short.jsonl");
  // A number takes 4 bytes in the rows, which may exist twice for one pass, and 8 bytes in the
  // response. In JSON it would take 16 bytes as a value, and more than 20 as text.
  constexpr std::int64_t kMiBPerByte = kItems * kLabels >> 20;
  EXPECT_LT(more, 24 * kMiBPerByte);
  RecordProperty("MiB", static_cast<int>(more));
}

}  // namespace batch_files_test
}  // namespace scorecast::testing
