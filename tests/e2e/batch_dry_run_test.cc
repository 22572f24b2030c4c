// `scorecast batch --dry-run`.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/batch/files/compressor.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace batch_dry_run_test {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string DryRunRequests(int count) {
  std::string input;
  for (int i = 0; i < count; ++i) {
    input += ScoreLine(std::to_string(i),
                       {{"query", {1, i}}, {"items", {{3}, {4, i}}}, {"label_token_ids", {1, 2}}});
  }
  return input;
}

/// Contents of a directory: names, bytes and times.
std::map<std::string, std::pair<std::string, std::filesystem::file_time_type>> ContentsOf(
    const std::filesystem::path& dir) {
  std::map<std::string, std::pair<std::string, std::filesystem::file_time_type>> contents;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    contents[entry.path().filename()] = {ReadFile(entry.path()), entry.last_write_time()};
  }
  return contents;
}

class BatchDryRun : public ::testing::Test {
 protected:
  BatchDryRun() { WriteFile(input, DryRunRequests(5)); }

  ProcessResult RunBatchCommand(const std::vector<std::string>& flags, int ranks = 0) const {
    std::vector<std::string> arguments = {"batch",    "--model", model.string(), "--input", input,
                                          "--output", output,    "--log-level",  "error"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunScorecast(arguments, ranks);
  }

  /// Expects that a dry run changes nothing, and prints only a line with this part, with which it
  /// fails.
  void ExpectFault(const std::vector<std::string>& flags, const std::string& part) const {
    SCOPED_TRACE(part);
    const auto before = ContentsOf(dir);
    const ProcessResult result = RunBatchCommand(flags);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(ContentsOf(dir), before);
  }

  static const std::filesystem::path model;
  const std::filesystem::path dir = NewDirectory();
  std::string input = (dir / "in.jsonl").string();
  std::string output = (dir / "out.jsonl").string();
};

const std::filesystem::path BatchDryRun::model = MakeModel("");

TEST_F(BatchDryRun, PrintsWhatItFindsAndChangesNoFile) {
  const auto before = ContentsOf(dir);
  const ProcessResult result =
      RunBatchCommand({"--dry-run", "--ranks", "3", "--ranks-per-host", "2", "--shard", "1/2"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("LlamaForCausalLM"));
  EXPECT_THAT(result.out, ContainsRegex("\nranks     3, dtype "));
  EXPECT_THAT(result.out, ContainsRegex("\nmemory    rank 0 needs .* shared by 2 ranks\n"));
  EXPECT_THAT(result.out,
              HasSubstr("\ninput     " + input + ": 5 lines, 2 of them in --shard 1/2\n"));
  EXPECT_THAT(result.out, HasSubstr("\noutput    " + output + ": begins\n"));
  EXPECT_THAT(result.out, HasSubstr("\ndone      0 of 2 lines\n"));
  EXPECT_EQ(ContentsOf(dir), before);
}

TEST_F(BatchDryRun, TellsWhereARunGoesOnAndWhyItCannot) {
  ASSERT_EQ(RunBatchCommand({}).exit_code, 0);
  WriteFile(input, DryRunRequests(7));
  const auto before = ContentsOf(dir);
  const ProcessResult result = RunBatchCommand({"--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\noutput    " + output + ": goes on behind record 5\n"));
  EXPECT_THAT(result.out, HasSubstr("\ndone      5 of 7 lines\n"));
  EXPECT_EQ(ContentsOf(dir), before);
  ExpectFault({"--dry-run", "--ranks", "2"}, "the number of ranks was 1 and is 2");
  ExpectFault({"--dry-run", "--max-items", "7"}, "--max-items was 128 and is 7");
}

TEST_F(BatchDryRun, WithRankInvariantARunGoesOnOnAnyNumberOfRanks) {
  ASSERT_EQ(RunBatchCommand({"--rank-invariant"}).exit_code, 0);
  WriteFile(input, DryRunRequests(7));
  const ProcessResult result =
      RunBatchCommand({"--dry-run", "--rank-invariant", "--ranks", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\noutput    " + output + ": goes on behind record 5\n"));
  ExpectFault({"--dry-run"}, "the number of ranks was any, by --rank-invariant and is 1");
}

TEST_F(BatchDryRun, ChecksEveryRankUnderMpirun) {
  const ProcessResult result = RunBatchCommand({"--dry-run"}, 2);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nranks     2, dtype "));
  EXPECT_EQ(LinesOf(result.out).size(), 6U) << result.out << "only rank 0 prints";
  EXPECT_FALSE(std::filesystem::exists(output));
  const ProcessResult planned = RunBatchCommand({"--dry-run", "--ranks", "2"}, 2);
  EXPECT_EQ(planned.exit_code, 1);
  EXPECT_THAT(planned.err, HasSubstr("scorecast: --ranks is for a dry run by one process, and this "
                                     "job has 2 ranks\n"));
}

TEST_F(BatchDryRun, AFaultIsOneLine) {
  ExpectFault({"--dry-run", "--ranks", "7"}, "6 query heads");
  ExpectFault({"--dry-run", "--kv-cache-mb", "100000"}, "a rank needs ");
  ExpectFault({"--ranks", "2"}, "--ranks requires --dry-run");
  output = (dir / "nowhere" / "out.jsonl").string();
  ExpectFault({"--dry-run"}, "cannot write " + output + ": No such file or directory");
  output = dir.string();
  ExpectFault({"--dry-run"}, "cannot write " + output + ": Is a directory");
  output = (dir / "out.jsonl").string();
  const auto compressor = coordinator::MakeCompressor(coordinator::Compression::kGzip);
  std::string bytes;
  compressor->Add(DryRunRequests(100), bytes);
  compressor->End(bytes);
  input = (dir / "in.jsonl.gz").string();
  WriteFile(input, bytes.substr(0, bytes.size() / 2));
  ExpectFault({"--dry-run"}, "cannot read " + input + ": its compressed data ends too early");
  input = (dir / "none.jsonl").string();
  ExpectFault({"--dry-run"}, "cannot read " + input + ": No such file or directory");
}

TEST_F(BatchDryRun, ReadsNothingFromStandardInput) {
  input = "-";
  output = "-";
  const ProcessResult result = RunBatchCommand({"--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("standard input: no regular file"));
  EXPECT_THAT(result.out, HasSubstr("standard output: begins\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("\ndone ")));
}

}  // namespace batch_dry_run_test
}  // namespace scorecast::testing
