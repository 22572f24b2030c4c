// Where a run begins, from what its output, its state and its input have.

#include "coordinator/transports/batch/run_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "coordinator/transports/batch/own_lines.h"
#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace run_files_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The record of a line: its number among those that are not blank.
std::string Record(std::int64_t number) {
  if (number % 5 == 4) {
    return R"({"custom_id":null,"response":null,"error":{"code":400,"response":{}}})";
  }
  return R"({"custom_id":")" + std::to_string(number) + R"(","response":{"status_code":)" +
         (number % 4 == 3 ? "400" : "200") +
         R"(,"body":{"status_code":7,"list":[{"status_code":200},1.5,-1,true]}},"error":null})";
}

class RunFilesTest : public ::testing::TestWithParam<const char*> {
 protected:
  RunFilesTest() {
    options.input = dir.path() / "in.jsonl";
    options.output = dir.path() / GetParam();
    options.max_line_bytes = 1000;
    options.settings = {{"--dtype", "f32"}};
    options.build = "b";
    for (int i = 0; i < kLines; ++i) {
      text += "line " + std::to_string(i) + "\n" + (i % 3 == 0 ? " \n" : "");
    }
    Write(options.input, text);
  }

  /// Opens the run and writes `flushes` times `per_flush` records. Then it is left as a killed
  /// process leaves it. Returns the number of records that it found.
  std::int64_t RunAndDie(int flushes, int per_flush = 2) {
    RunFiles files(options);
    files.Begin();
    OwnLines lines(files.input(), options.share, files.begin());
    RunPoint end = files.begin();
    for (int flush = 0; flush < flushes; ++flush) {
      WriteRecords(files, lines, end, per_flush);
    }
    return files.begin().records();
  }

  void WriteRecords(RunFiles& files, OwnLines& lines, RunPoint& end, int count) {
    std::vector<std::string> records;
    std::string line;
    while (count-- > 0 && lines.Next(line) == InputFile::Result::kLine) {
      EXPECT_EQ(line, "line " + std::to_string(lines.number()));
      lines.MoveHere(end);
      records.push_back(Record(lines.number()));
      ++(lines.number() % 5 == 4   ? end.error_records
         : lines.number() % 4 == 3 ? end.refused
                                   : end.succeeded);
    }
    files.Write(records, end);
  }

  /// Goes on to the end.
  void Complete() {
    RunFiles files(options);
    files.Begin();
    OwnLines lines(files.input(), options.share, files.begin());
    RunPoint end = files.begin();
    while (end.records() < kLines) {
      WriteRecords(files, lines, end, 4);
    }
    std::string line;
    EXPECT_EQ(lines.Next(line), InputFile::Result::kEnd);
    lines.MoveHere(end);
    files.Finish(end);
  }

  void ExpectWhole() {
    InputFile output(options.output, 1000);
    std::string line;
    for (std::int64_t number = 0; number < kLines; ++number) {
      ASSERT_EQ(output.Next(line), InputFile::Result::kLine) << number;
      EXPECT_EQ(line, Record(number));
    }
    EXPECT_EQ(output.Next(line), InputFile::Result::kEnd);
    EXPECT_EQ(output.failure(), "");
  }

  /// Why the run cannot begin. Empty if it can.
  std::string Fault() const {
    try {
      const RunFiles files(options);
      return "";
    } catch (const proto::StartupError& fault) {
      return fault.what();
    }
  }

  std::string State() const { return Read(options.output.string() + ".state"); }

  static constexpr int kLines = 20;
  reference::TempDirectory dir;
  std::string text;
  RunOptions options;
};

TEST_P(RunFilesTest, ARunGoesOnBehindARecordThatWasWrittenInParts) {
  for (const bool is_whole : {false, true}) {
    options.restart = true;
    {
      RunFiles files(options);
      files.Begin();
      OwnLines lines(files.input(), options.share, files.begin());
      RunPoint end;
      WriteRecords(files, lines, end, 2);
      std::string line;
      ASSERT_EQ(lines.Next(line), InputFile::Result::kLine);
      lines.MoveHere(end);
      ++end.succeeded;
      files.BeginRecord(end);
      const std::string record = Record(2);
      files.WritePart(record.substr(0, 20));
      files.WritePart(record.substr(20));
      if (is_whole) {
        files.EndRecord();
      }
    }
    options.restart = false;
    EXPECT_EQ(RunAndDie(0), is_whole ? 3 : 2);
    Complete();
    ExpectWhole();
  }
}

TEST_P(RunFilesTest, ARunGoesOnWhereverItsProcessWasKilled) {
  const auto state_path = options.output.string() + ".state";
  RunAndDie(2);
  const std::string two = Read(options.output);
  options.restart = true;
  RunAndDie(3);
  options.restart = false;
  const std::string state = State();
  const std::string three = Read(options.output);
  ASSERT_TRUE(three.starts_with(two));
  // Killed at some bytes of the third flush, the first and the last few among them.
  const auto is_inner = [&](std::size_t size) {
    return size > two.size() + 3 && size + 10 < three.size();
  };
  for (std::size_t size = two.size(); size <= three.size(); size += is_inner(size) ? 7 : 1) {
    SCOPED_TRACE(size);
    Write(options.output, three.substr(0, size));
    Write(state_path, state);
    {
      RunFiles files(options);
      // Whole records stay, and whole members or frames.
      const bool is_plain = std::string(GetParam()) == "out.jsonl";
      const std::int64_t in_flush =
          is_plain ? std::ranges::count(three.substr(two.size(), size - two.size()), '\n')
                   : (size == three.size() ? 2 : 0);
      EXPECT_EQ(files.begin().records(), 4 + in_flush);
      EXPECT_EQ(files.begin().refused, 1);
      EXPECT_EQ(files.begin().error_records, in_flush > 0 ? 1 : 0);
      EXPECT_EQ(Read(options.output).size(), size) << "nothing is changed yet";
      files.Begin();
      EXPECT_TRUE(three.starts_with(Read(options.output)));
    }
    Complete();
    EXPECT_TRUE(Read(options.output).starts_with(two));
    ExpectWhole();
  }
}

TEST_P(RunFilesTest, ARunGoesOnAgainAndAgain) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(RunAndDie(1), 2 * i);
  }
  Complete();
  ExpectWhole();
  const std::string whole = Read(options.output);
  EXPECT_EQ(RunAndDie(0), kLines) << "nothing is left";
  EXPECT_EQ(Read(options.output), whole);
}

TEST_P(RunFilesTest, AnInputThatHasGrownIsGoneOnWith) {
  Complete();
  Write(options.input, text + "line 20\n");
  RunFiles files(options);
  OwnLines lines(files.input(), options.share, files.begin());
  std::string line;
  EXPECT_EQ(lines.Next(line), InputFile::Result::kLine);
  EXPECT_EQ(line, "line 20");
  EXPECT_EQ(lines.number(), 20);
}

TEST_P(RunFilesTest, SeedAndTimeStay) {
  RunAndDie(1);
  std::uint64_t seed = 0;
  std::int64_t created = 0;
  {
    const RunFiles files(options);
    seed = files.seed();
    created = files.created();
    EXPECT_THAT(Fault(), HasSubstr(" is being written by process "));
  }
  std::filesystem::last_write_time(
      options.input, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(RunAndDie(1), 2);
  const RunFiles files(options);
  EXPECT_EQ(files.seed(), seed);
  EXPECT_EQ(files.created(), created);
}

TEST_P(RunFilesTest, WhatDiffersIsRefused) {
  options.seed = 7;
  RunAndDie(2);
  const RunOptions same = options;
  options.settings = {{"--dtype", "bf16"}};
  EXPECT_THAT(Fault(), AllOf(HasSubstr("--dtype was f32 and is bf16"), HasSubstr("--restart")));
  options = same;
  options.seed = 8;
  EXPECT_THAT(Fault(), HasSubstr("--seed was 7 and is 8"));
  options = same;
  options.share = {0, 2};
  EXPECT_THAT(Fault(), HasSubstr("--shard was 0/1 and is 0/2"));
  options = same;
  options.seed.reset();
  EXPECT_EQ(Fault(), "") << "the run has one";
  EXPECT_EQ(RunFiles(options).seed(), 7U);
  options.build = "c";
  EXPECT_EQ(RunFiles(options).other_build(), "b");
  options.settings = {{"--dtype", "bf16"}};
  options.restart = true;
  EXPECT_EQ(Fault(), "");
  EXPECT_EQ(RunAndDie(1), 0);
}

TEST_P(RunFilesTest, AnInputThatHasChangedIsRefused) {
  RunAndDie(2);
  std::string changed = text;
  changed[2] = 'X';
  Write(options.input, changed);
  EXPECT_THAT(Fault(),
              AllOf(HasSubstr("in.jsonl has changed in its first"), HasSubstr("--restart")));
  Write(options.input, text.substr(0, 10));
  EXPECT_THAT(Fault(), HasSubstr("in.jsonl has changed in its first"));
  changed = text;
  changed[text.size() - 3] = 'X';
  Write(options.input, changed);
  EXPECT_EQ(Fault(), "") << "nothing of it was written yet";
  // Records of the last flush may be missing, but what they belong to must not change, either.
  Write(options.output, Read(options.output).substr(0, Read(options.output).size() - 1));
  changed = text;
  changed[text.find("line 3") + 1] = 'X';
  Write(options.input, changed);
  EXPECT_THAT(Fault(), HasSubstr("in.jsonl has changed"));
}

TEST_P(RunFilesTest, AnOutputThatIsNotOfTheRunIsRefused) {
  Write(options.output, "mine\n");
  EXPECT_THAT(Fault(), AllOf(HasSubstr("is not empty"), HasSubstr("--restart")));
  EXPECT_EQ(Read(options.output), "mine\n");
  options.restart = true;
  RunAndDie(2);
  options.restart = false;
  const std::string written = Read(options.output);
  Write(options.output, written + written);
  EXPECT_THAT(Fault(), HasSubstr("has records that the run in"));
  Write(options.output, written.substr(0, 3));
  EXPECT_THAT(Fault(), HasSubstr("fewer than the"));
  Write(options.output, written);
  EXPECT_EQ(Fault(), "");
}

TEST_P(RunFilesTest, AnEditOfTheSameLengthIsRefused) {
  for (const bool is_finished : {false, true}) {
    options.restart = true;
    RunAndDie(3);
    options.restart = false;
    if (is_finished) {
      Complete();
    } else {
      RunAndDie(0);  // The digest goes on with the one of the run before.
    }
    const std::string written = Read(options.output);
    for (const std::size_t at : {std::size_t{0}, written.size() / 2, written.size() - 2}) {
      std::string edited = written;
      edited[at] ^= 1;
      Write(options.output, edited);
      EXPECT_THAT(Fault(), AllOf(HasSubstr("has changed in its first " +
                                           std::to_string(written.size()) + " bytes"),
                                 HasSubstr("--restart")));
      EXPECT_EQ(Read(options.output), edited);
    }
    Write(options.output, written);
    EXPECT_EQ(Fault(), "");
  }
}

TEST_P(RunFilesTest, AStateFileThatCannotBeUsedIsNamedWithWhatToDo) {
  RunAndDie(2);
  const std::string state_path = options.output.string() + ".state";
  const std::string state = State();
  for (const std::string& broken : {std::string(), state.substr(0, 40), std::string("{}")}) {
    Write(state_path, broken);
    EXPECT_THAT(Fault(), AllOf(HasSubstr("the state file " + state_path + " is broken (it"),
                               HasSubstr("put the run's own file back, or give --restart"),
                               Not(HasSubstr("exception"))));
  }
  std::string old = state;
  old.replace(old.find("\"format\": 3"), 11, "\"format\": 2");
  Write(state_path, old);
  EXPECT_THAT(Fault(), AllOf(HasSubstr(state_path + " has format 2 and not 3"),
                             HasSubstr("that began the run (b), or give --restart")));
  std::filesystem::remove(state_path);
  std::filesystem::create_directory(state_path);
  EXPECT_THAT(Fault(), HasSubstr("cannot read the state of the run, " + state_path));
}

TEST_P(RunFilesTest, OtherWeightsAreRefusedWhenTheyAreLoaded) {
  const auto begin_with = [this](const std::string& checksum) {
    RunFiles files(options);
    files.SetWeights({{"the CRC-32C of model.safetensors", checksum}});
    files.Begin();
    return files.begin().records();
  };
  EXPECT_EQ(begin_with("01"), 0);
  EXPECT_EQ(begin_with("02"), 0) << "nothing was written with the first";
  {
    RunFiles files(options);
    files.SetWeights({{"the CRC-32C of model.safetensors", "03"}});
    files.Begin();
    OwnLines lines(files.input(), options.share, files.begin());
    RunPoint end = files.begin();
    WriteRecords(files, lines, end, 2);
  }
  const std::string written = Read(options.output);
  try {
    begin_with("04");
    ADD_FAILURE() << "other weights";
  } catch (const proto::StartupError& fault) {
    EXPECT_THAT(fault.what(), AllOf(HasSubstr("cannot go on: the CRC-32C of model.safetensors was "
                                              "03 and is 04; give --restart"),
                                    HasSubstr(options.output.string())));
  }
  EXPECT_EQ(Read(options.output), written);
  EXPECT_EQ(begin_with("03"), 2);
  options.restart = true;
  EXPECT_EQ(begin_with("04"), 0);
}

TEST_P(RunFilesTest, TheModelsNameStays) {
  options.default_model_name = "first";
  RunAndDie(1);
  options.default_model_name = "second";
  EXPECT_EQ(RunFiles(options).model_name(), "first");
  EXPECT_EQ(RunAndDie(1), 2);
  options.model_name = "first";
  EXPECT_EQ(RunFiles(options).model_name(), "first") << "after another run, too";
  options.model_name = "second";
  EXPECT_THAT(Fault(), HasSubstr("--served-model-name was first and is second"));
  options.restart = true;
  EXPECT_EQ(RunFiles(options).model_name(), "second");
}

TEST_P(RunFilesTest, WhatWasAddedToAFinishedOutputIsNotCut) {
  Complete();
  const std::string longer = Read(options.output) + "mine\n";
  Write(options.output, longer);
  EXPECT_THAT(Fault(), AllOf(HasSubstr("more than the"), HasSubstr("--restart")));
  EXPECT_EQ(Read(options.output), longer);
}

TEST_P(RunFilesTest, ARunThatWroteNothingBeginsAnewWithAnySettings) {
  RunAndDie(0);
  options.settings = {{"--dtype", "bf16"}};
  EXPECT_EQ(Fault(), "");
  Write(options.input, "");
  { RunFiles(options).Finish({}); }
  Write(options.input, text);
  options.settings = {{"--dtype", "int8"}};
  EXPECT_EQ(Fault(), "") << "an empty file may have bytes if it is compressed";
}

TEST_P(RunFilesTest, BytesOfACrashedHostAreCut) {
  RunAndDie(2);
  options.restart = true;
  RunAndDie(3);
  options.restart = false;
  std::string bytes = Read(options.output);
  // The size was on the disk, but not all the bytes.
  std::fill(bytes.end() - 20, bytes.end(), '\0');
  Write(options.output, bytes);
  Complete();
  ExpectWhole();
}

TEST_P(RunFilesTest, OtherNamesOfTheOutputHaveTheSameLock) {
  const RunFiles files(options);
  const auto link = dir.path() / ("link-" + std::string(GetParam()));
  std::filesystem::create_symlink(options.output, link);
  options.output = link;
  EXPECT_THAT(Fault(), HasSubstr(" is being written by process "));
}

TEST_P(RunFilesTest, ALinkToAnOutputThatDoesNotExistYetIsFollowed) {
  const auto output = options.output;
  const auto link = dir.path() / ("link-" + std::string(GetParam()));
  const auto second = dir.path() / ("second-" + std::string(GetParam()));
  std::filesystem::create_symlink(output.filename(), link);
  std::filesystem::create_symlink(link, second);
  options.output = second;
  RunAndDie(2);
  options.output = output;
  Complete();
  ExpectWhole();
}

TEST_P(RunFilesTest, WhatCannotGoOnSaysSo) {
  EXPECT_EQ(RunFiles(options).no_resumption_reason(), "");
  RunOptions other = options;
  other.output = "-";
  EXPECT_EQ(RunFiles(other).no_resumption_reason(), "its output is standard output");
  other.output = "/dev/null";
  EXPECT_EQ(RunFiles(other).no_resumption_reason(), "its output /dev/null is not a regular file");
  other = options;
  other.input = "-";
  EXPECT_EQ(RunFiles(other).no_resumption_reason(), "its input is standard input");
  RunAndDie(1);
  options.input = "-";
  EXPECT_THAT(Fault(), HasSubstr("a run cannot go on if its input is standard input"));
}

TEST_P(RunFilesTest, ADryRunFindsTheSameAndChangesNoFile) {
  RunOptions dry = options;
  dry.is_dry_run = true;
  EXPECT_EQ(RunFiles(dry).begin().records(), 0);
  EXPECT_FALSE(std::filesystem::exists(options.output));
  RunAndDie(3);
  const std::string before = Read(options.output) + State();
  const RunPoint begin = RunFiles(dry).begin();
  EXPECT_EQ(begin.records(), 6);
  EXPECT_EQ(Read(options.output) + State(), before);
  EXPECT_FALSE(std::filesystem::exists(options.output.string() + ".lock"));
  const RunFiles writer(options);
  EXPECT_EQ(writer.begin(), begin);
  const std::string held = Fault();
  EXPECT_THAT(held, HasSubstr("is being written by process"));
  options = dry;
  EXPECT_EQ(Fault(), held);
}

TEST_P(RunFilesTest, ADryRunDoesNotWaitForAPipe) {
  options.is_dry_run = true;
  options.input = dir.path() / "in.pipe";
  ASSERT_EQ(mkfifo(options.input.c_str(), 0666), 0);
  const RunFiles files(options);
  EXPECT_FALSE(files.has_input());
  EXPECT_THAT(files.no_resumption_reason(), HasSubstr("in.pipe is not a regular file"));
}

INSTANTIATE_TEST_SUITE_P(, RunFilesTest,
                         ::testing::Values("out.jsonl", "out.jsonl.gz", "out.jsonl.zst"),
                         [](const auto& of) {
                           return std::filesystem::path(of.param).extension().string().substr(1);
                         });

}  // namespace run_files_test
}  // namespace scorecast::coordinator
