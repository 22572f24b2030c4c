// Batches that are killed or ended at random moments and continued with the same command. The final
// file must be the same as that of an undisturbed run, and text that was written must never change.
//
// SCORECAST_BATCH_KILLS is the number of kills of each output (default 6).

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/batch/files/input_file.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/models.h"
#include "tests/e2e/process.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace batch_resume_test {

using coordinator::InputFile;
using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kInterrupted = 75;
constexpr int kSomeFailed = 3;

int Kills() {
  const char* kills = std::getenv("SCORECAST_BATCH_KILLS");
  return kills == nullptr ? 6 : std::atoi(kills);
}

/// Requests of several kinds, some of them with long responses or sampled without a seed, and some
/// lines that get errors. No custom_id tells them apart.
std::string Requests(int count) {
  std::string input;
  for (int i = 0; i < count; ++i) {
    const std::string text = "The number " + std::to_string(i) + " is";
    switch (i % 7) {
      case 0:
        input += RequestLine("same", {"/v1/score",
                                      {{"query", text},
                                       {"items", {" one", " two", " three"}},
                                       {"labels", {" yes", " no"}},
                                       {"top_logprobs", 50}}});
        break;
      case 1:
        input += RequestLine(
            "same",
            {"/v1/chunked", {{"prompt", text}, {"max_new_tokens", 6}, {"temperature", 1.5}}});
        break;
      case 2:
        input += RequestLine(
            "same", {"/v1/rerank", {{"query", text}, {"documents", {"one", "two", text}}}});
        break;
      case 3:
        input += RequestLine("same", {"/score", {{"text_1", text}, {"text_2", {"one", "two"}}}});
        break;
      case 4:
        input += "nonsense " + std::to_string(i) + "\n \n";
        break;
      default:
        input += RequestLine("same", {"/v1/score",
                                      {{"query", text},
                                       {"items", {" one"}},
                                       {"labels", {i % 7 == 5 ? " yes" : "not one token"}}}});
    }
  }
  return input;
}

/// A directory with an input.
struct Job {
  Job(int lines, std::string output_name, int job_ranks)
      : output(dir / std::move(output_name)), ranks(job_ranks) {
    WriteFile(dir / "in.jsonl", Requests(lines));
  }

  Command CommandLine(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "batch",
        "--model",
        model,
        "--rerank-template",
        DemoModelDirectory().parent_path() / "rerank_template.txt",
        "--input",
        dir / "in.jsonl",
        "--output",
        output,
        "--seed",
        "11"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Command command = ScorecastCommand(arguments, ranks);
    // Killed ranks leave their shared memory behind.
    command.environment.emplace_back("OMPI_MCA_btl_vader_backing_directory", dir.string());
    return command;
  }

  /// The records in the file. If the file is cut off, the records before the cut.
  std::vector<std::string> Records() const {
    std::vector<std::string> records;
    InputFile file(output, std::int64_t{1} << 30);
    std::string line;
    while (file.Next(line) == InputFile::Result::kLine) {
      records.push_back(line);
    }
    return records;
  }

  std::vector<std::string> StableRecords() const {
    BatchRun run;
    run.lines = Records();
    return run.Stable();
  }

  /// The text that must never change: what is written according to the state and, in a plain file,
  /// all whole lines.
  std::string Fixed() const {
    if (!std::filesystem::exists(StatePath())) {
      return "";
    }
    const std::string bytes = ReadFile(output);
    auto size = json::parse(ReadFile(StatePath())).at("output_bytes").get<std::size_t>();
    EXPECT_LE(size, bytes.size());
    if (output.extension() == ".jsonl") {
      size = std::max(size, bytes.rfind('\n') + 1);
    }
    return bytes.substr(0, size);
  }

  /// Bytes of the output with which the next run goes on, however this one ends. 0 if there are
  /// none.
  std::int64_t KeptBytes() const {
    std::ifstream file(StatePath());  // The run may remove it at any moment.
    const json state = json::parse(file, nullptr, /*allow_exceptions=*/false);
    return state.is_discarded() ? 0 : state.at("output_bytes").get<std::int64_t>();
  }

  std::filesystem::path StatePath() const { return output.string() + ".state"; }

  const std::filesystem::path dir = NewDirectory();
  const std::filesystem::path output;
  const int ranks;
  std::filesystem::path model = DemoModelDirectory();
};

/// Sends SIGUSR1 to rank 0, or to mpirun, which sends it to all ranks. First waits until the ranks
/// take the signal, because it would kill a rank that has not reached main, and mpirun may then
/// hang.
void SendEndSignal(pid_t mpirun, std::size_t ranks, bool to_rank_zero) {
  const auto takes = [](pid_t pid) { return Catches(pid, SIGUSR1) || Ignores(pid, SIGUSR1); };
  ASSERT_TRUE(Eventually([&] {
    const std::vector<pid_t> started = RanksOf(mpirun);
    if (started.size() == ranks) {
      if (to_rank_zero && Catches(started.front(), SIGUSR1)) {
        return kill(started.front(), SIGUSR1) == 0;
      }
      if (!to_rank_zero && std::ranges::all_of(started, takes)) {
        return kill(mpirun, SIGUSR1) == 0;
      }
    }
    return !IsRunning(mpirun);
  }));
}

/// Kills a process of the run: the rank `victim`, or mpirun if there is no such rank. A rank is
/// killed only when Open MPI has started: if one dies while it connects to mpirun, then mpirun may
/// wait forever for a lock of its PMIx server (seen with PMIx 4.2.2), although all ranks have
/// ended.
void Kill(Process& run, std::size_t ranks, std::size_t victim) {
  if (victim == ranks) {
    kill(run.pid(), SIGKILL);
    return;
  }
  run.ErrorLineWith(" ranks x ");
  const std::vector<pid_t> started = RanksOf(run.pid());
  if (victim < started.size()) {
    kill(started[victim], SIGKILL);
  }
}

/// Ends a run in one of the ways in which runs are ended. Without mpirun, `ranks` is 0.
void Disturb(Process& run, std::size_t ranks, std::mt19937& random) {
  switch (random() % 5) {
    case 0:
      kill(run.pid(), SIGTERM);
      break;
    case 1:
      if (ranks > 0) {
        SendEndSignal(run.pid(), ranks, random() % 2 == 0);
      } else {
        kill(run.pid(), SIGUSR1);
      }
      break;
    default:
      Kill(run, ranks, random() % (ranks + 1));
  }
}

/// Waits until the run has written a random part of the bytes that are missing of `whole`, or until
/// the run ends.
void AwaitWork(const Process& run, const Job& job, std::uintmax_t whole, std::mt19937& random) {
  const auto size = [&] {
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(job.output, none);
    return none ? 0 : bytes;
  };
  const std::uintmax_t begin = size();
  const std::uintmax_t least = begin + 1 + random() % (whole - std::min(begin, whole) + 1);
  Eventually([&] { return size() >= least || !IsRunning(run.pid()); });
}

/// Waits until the next run has something to go on with, or until this run ends. The size of a
/// compressed file does not say it, because a killed run leaves only whole members.
void AwaitKeptBytes(const Process& run, const Job& job) {
  Eventually([&] { return job.KeptBytes() > 0 || !IsRunning(run.pid()); });
}

struct Shape {
  std::string output;
  int ranks = 0;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.output << ", " << shape.ranks << " ranks";
}

class BatchKills : public ::testing::TestWithParam<Shape> {};

TEST_P(BatchKills, TheFinalFileIsThatOfAnUndisturbedRun) {
  constexpr int kLines = 1500;
  const Shape shape = GetParam();
  Job undisturbed(kLines, shape.output, shape.ranks);
  const ProcessResult whole = testing::Run(undisturbed.CommandLine());
  ASSERT_EQ(whole.exit_code, kSomeFailed) << whole.err;
  const std::vector<std::string> expected = undisturbed.StableRecords();
  ASSERT_EQ(expected.size(), std::size_t{kLines});
  const std::uintmax_t whole_size = std::filesystem::file_size(undisturbed.output);

  std::mt19937 random(static_cast<unsigned>(shape.output.size() * 31 + shape.ranks));
  int kills = 0;
  int resumed = 0;
  while (kills < Kills() || resumed == 0) {
    ASSERT_LT(kills, 10 * Kills()) << "no run goes on";
    const Job job(kLines, shape.output, shape.ranks);
    std::filesystem::copy_file(undisturbed.dir / "in.jsonl", job.dir / "in.jsonl",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::last_write_time(
        job.dir / "in.jsonl", std::filesystem::last_write_time(undisturbed.dir / "in.jsonl"));
    std::string fixed;
    for (bool is_done = false; !is_done;) {
      Process process(job.CommandLine());
      if (kills < Kills() || resumed == 0) {
        // Some runs are disturbed while they start. The first one is not, so that the next one
        // continues it.
        if (resumed == 0 && job.KeptBytes() == 0) {
          AwaitKeptBytes(process, job);
        } else if (random() % 3 == 0) {
          std::this_thread::sleep_for(milliseconds(random() % 500));
        } else {
          AwaitWork(process, job, whole_size, random);
        }
        Disturb(process, static_cast<std::size_t>(shape.ranks), random);
      }
      const ProcessResult result = process.Wait();
      ASSERT_FALSE(result.timed_out) << result.err;
      if (result.err.find(" is being written by ") != std::string::npos) {
        // The ranks of a killed mpirun take a moment to end.
        std::this_thread::sleep_for(milliseconds(100));
        continue;
      }
      EXPECT_THAT(result.err, Not(HasSubstr("--restart")))
          << "what a kill leaves can be gone on with";
      // mpirun that gets SIGTERM exits with 1, whatever its ranks exit with.
      ASSERT_TRUE(result.exit_code != 1 || shape.ranks > 0) << result.err;
      is_done = result.exit_code == kSomeFailed;
      kills += is_done ? 0 : 1;
      resumed += result.err.find("going on behind record") != std::string::npos ? 1 : 0;
      if (std::filesystem::exists(job.output)) {
        ASSERT_TRUE(ReadFile(job.output).starts_with(fixed)) << "what was written stays";
        fixed = job.Fixed();
      }
    }
    EXPECT_EQ(job.StableRecords(), expected);
    EXPECT_FALSE(std::filesystem::exists(job.output.string() + ".lock"));
  }
}

INSTANTIATE_TEST_SUITE_P(, BatchKills,
                         ::testing::Values(Shape{"out.jsonl", 0}, Shape{"out.jsonl.gz", 0},
                                           Shape{"out.jsonl.zst", 2}, Shape{"out.jsonl", 2}),
                         [](const auto& of) {
                           const std::string kind =
                               std::filesystem::path(of.param.output).extension().string();
                           return kind.substr(1) + std::to_string(of.param.ranks);
                         });

/// Waits until the run has written something.
void AwaitRecords(const Job& job) {
  ASSERT_TRUE(Eventually([&] {
    return std::filesystem::exists(job.output) && std::filesystem::file_size(job.output) > 0;
  }));
}

TEST(BatchSignals, ARunEndsWith75AndGoesOn) {
  for (const int ranks : {0, 2}) {
    for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) {
      if (ranks > 0 && signal != SIGUSR1) {
        continue;  // mpirun kills the ranks after these signals.
      }
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + strsignal(signal));
      const Job job(4000, "out.jsonl", ranks);
      Process process(job.CommandLine());
      AwaitRecords(job);
      kill(process.pid(), signal);
      const ProcessResult result = process.Wait();
      EXPECT_EQ(result.exit_code, kInterrupted) << result.err;
      EXPECT_THAT(result.err, HasSubstr("ending after the pass in flight"));
      EXPECT_THAT(result.err, HasSubstr(": the same command goes on"));
      const std::size_t records = job.Records().size();
      EXPECT_LT(records, 4000U);
      const ProcessResult rest = testing::Run(job.CommandLine());
      EXPECT_EQ(rest.exit_code, kSomeFailed) << rest.err;
      EXPECT_THAT(rest.err, HasSubstr("going on behind record " + std::to_string(records) + " of"));
      EXPECT_EQ(job.Records().size(), 4000U);
    }
  }
}

TEST(BatchSignals, AnInputThatWaitsIsLeft) {
  Process process(ScorecastCommand(
      {"batch", "--model", DemoModelDirectory(), "--input", "-", "--output", "-"}));
  process.Send(ScoreLine("a", {{"query", "a"}, {"items", {"b"}}, {"labels", {" yes"}}}));
  EXPECT_THAT(process.ReadLine(), HasSubstr(R"({"custom_id":"a")"));
  kill(process.pid(), SIGTERM);
  // Wait would close the input.
  EXPECT_TRUE(Eventually([&] { return !IsRunning(process.pid()); }));
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, kInterrupted);
  EXPECT_THAT(result.err, HasSubstr("this run cannot go on if it is ended early, because its "));
  EXPECT_THAT(result.err, Not(HasSubstr("the same command goes on")));
}

TEST(BatchRuns, AnOutputHasOneWriter) {
  const Job job(4000, "out.jsonl", 0);
  Process first(job.CommandLine());
  AwaitRecords(job);
  kill(first.pid(), SIGSTOP);  // So that it does not end before the second has begun.
  const ProcessResult second = testing::Run(job.CommandLine());
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("is being written by process " + std::to_string(first.pid())));
  kill(first.pid(), SIGKILL);
  first.Wait();
  EXPECT_EQ(testing::Run(job.CommandLine()).exit_code, kSomeFailed);
  EXPECT_EQ(job.Records().size(), 4000U);
}

TEST(BatchRuns, OtherSettingsAreRefusedAndThreadsAreFree) {
  const Job job(50, "out.jsonl", 0);
  EXPECT_EQ(testing::Run(job.CommandLine()).exit_code, kSomeFailed);
  const std::string before = ReadFile(job.output);
  for (const auto& [flag, value, line] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--dtype", "int8", "--dtype was "},
           {"--kernel", "generic", "--kernel was "},
           {"--max-items", "7", "--max-items was 128 and is 7"},
           {"--max-batch-tokens", "100", "--max-batch-tokens was 8192 and is 100"},
           {"--shard", "0/2", "--shard was 0/1 and is 0/2"}}) {
    const ProcessResult result = testing::Run(job.CommandLine({flag, value}));
    EXPECT_EQ(result.exit_code, 1) << flag;
    EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
    EXPECT_THAT(result.err, HasSubstr(line));
  }
  EXPECT_EQ(ReadFile(job.output), before);
  EXPECT_EQ(testing::Run(job.CommandLine({"--threads", "2", "--kv-cache-mb", "0", "--log-level",
                                          "debug", "--rank-timeout", "20"}))
                .exit_code,
            kSomeFailed);
  EXPECT_EQ(ReadFile(job.output), before);
}

#if defined(__x86_64__)

// As on a host with another CPU, for which OpenBLAS has other kernels.
TEST(BatchRuns, OtherKernelsOfALibraryAreRefusedIfItComputes) {
  const auto run = [](const Job& job, const std::string& core, const std::string& kernels) {
    Command command = job.CommandLine({"--kernel", kernels});
    command.environment.emplace_back("OPENBLAS_CORETYPE", core);
    return testing::Run(command);
  };
  const Job job(50, "out.jsonl", 0);
  EXPECT_EQ(run(job, "Nehalem", "generic").exit_code, kSomeFailed);
  const std::string before = ReadFile(job.output);
  const ProcessResult refused = run(job, "Prescott", "generic");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, ::testing::ContainsRegex(
                               "cannot go on: the library of products was OpenBLAS [0-9.]+ Nehalem "
                               "and is OpenBLAS [0-9.]+ Prescott; give --restart"));
  EXPECT_EQ(run(job, "Nehalem", "generic").exit_code, kSomeFailed);
  EXPECT_EQ(ReadFile(job.output), before);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    const Job other(50, "out.jsonl", 0);
    EXPECT_EQ(run(other, "Nehalem", "avx2").exit_code, kSomeFailed);
    EXPECT_EQ(run(other, "Prescott", "avx2").exit_code, kSomeFailed) << "OpenBLAS does not compute";
  }
}

#if defined(__GLIBC__)

// As on a host with an older CPU, for which glibc has other variants of exp and log.
TEST(BatchRuns, OtherBitsOfTheCLibraryAreRefused) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    GTEST_SKIP() << "this CPU has no FMA either";
  }
  const Job job(50, "out.jsonl", 0);
  EXPECT_EQ(testing::Run(job.CommandLine()).exit_code, kSomeFailed);
  Command command = job.CommandLine();
  command.environment.emplace_back("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2");
  const ProcessResult refused = testing::Run(command);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot go on: the bits of the C library's exp and log was "));
}

#endif
#endif

TEST(BatchRuns, AnEditedModelIsRefusedAndAnotherPathIsFree) {
  Job job(20, "out.jsonl", 0);
  job.model = job.dir / "first";
  std::filesystem::copy(DemoModelDirectory(), job.model);
  const std::filesystem::path file = job.model / "model.safetensors";
  const std::string input = ReadFile(job.dir / "in.jsonl");
  WriteFile(job.dir / "in.jsonl", input.substr(0, input.find('\n', input.size() / 2) + 1));
  EXPECT_EQ(testing::Run(job.CommandLine()).exit_code, kSomeFailed);
  const std::string written = ReadFile(job.output);
  WriteFile(job.dir / "in.jsonl", input);
  // Rendered conversations and defaults of sampling must not change within a run.
  for (const auto& [name, text] : {std::pair("chat_template.jinja", "{{ messages[-1].content }}"),
                                   std::pair("generation_config.json", R"({"temperature":0.5})")}) {
    WriteFile(job.model / name, text);
    const ProcessResult refused = testing::Run(job.CommandLine());
    EXPECT_EQ(refused.exit_code, 1) << name;
    EXPECT_THAT(refused.err, HasSubstr("cannot go on: the model's fingerprint was "));
    std::filesystem::remove(job.model / name);
  }
  // The largest tensor begins near the start of the file, so this byte is in none of its samples.
  const std::string weights = ReadFile(file);
  std::string edited = weights;
  edited[edited.size() / 7] ^= 1;
  WriteFile(file, edited);
  const ProcessResult refused = testing::Run(job.CommandLine());
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot go on: the CRC-32C of model.safetensors was "));
  EXPECT_EQ(ReadFile(job.output), written);
  WriteFile(file, weights);
  std::filesystem::rename(job.model, job.dir / "second");
  job.model = job.dir / "second";
  const ProcessResult rest = testing::Run(job.CommandLine());
  EXPECT_EQ(rest.exit_code, kSomeFailed) << rest.err;
  EXPECT_TRUE(ReadFile(job.output).starts_with(written));
  EXPECT_THAT(ReadFile(job.output), Not(HasSubstr("\"second\"")))
      << "the run keeps its model's name";
}

TEST(BatchRuns, SharesTogetherAreTheWhole) {
  Job whole(40, "out.jsonl", 0);
  EXPECT_EQ(testing::Run(whole.CommandLine()).exit_code, kSomeFailed);
  std::vector<std::vector<std::string>> shares;
  for (int i = 0; i < 3; ++i) {
    Job share(40, "out.jsonl", 0);
    std::filesystem::last_write_time(share.dir / "in.jsonl",
                                     std::filesystem::last_write_time(whole.dir / "in.jsonl"));
    const std::string text = std::to_string(i) + "/3";
    EXPECT_EQ(testing::Run(share.CommandLine({"--shard", text})).exit_code, kSomeFailed);
    shares.push_back(share.StableRecords());
  }
  const std::vector<std::string> expected = whole.StableRecords();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LT(i / 3, shares[i % 3].size());
    EXPECT_EQ(shares[i % 3][i / 3], expected[i]);
  }
  for (const char* bad : {"3/3", "-1/3", "1", "a/b", "0/0", "1/2/3", ""}) {
    const ProcessResult refused = testing::Run(whole.CommandLine({"--shard", bad}));
    EXPECT_EQ(refused.exit_code, 1) << bad;
    EXPECT_THAT(refused.err, HasSubstr("--shard")) << bad;
  }
}

}  // namespace batch_resume_test
}  // namespace scorecast::testing
