// Ranks that would not compute the same model end at start-up with one line that names host and
// file, whatever else differs.

#include <filesystem>
#include <string>
#include <vector>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace startup_agreement_test {

using nlohmann::json;

using ::testing::ContainsRegex;

using ::testing::HasSubstr;

class StartupAgreement : public ::testing::Test {
 protected:
  /// A copy of the model, as another host may have one.
  std::filesystem::path Copy() const {
    const std::filesystem::path copy = NewDirectory() / "copy";
    std::filesystem::copy(model_, copy, std::filesystem::copy_options::recursive);
    return copy;
  }

  /// Runs `batch` on two ranks, with the given program and flags on the second one.
  ProcessResult RunTwo(const std::vector<std::string>& second_program,
                       const std::vector<std::string>& second_flags) const {
    const std::filesystem::path input = NewDirectory() / "in";
    WriteFile(input, ScoreLine("a", {{"query", {1}}, {"items", {{2}}}, {"label_token_ids", {3}}}));
    const std::filesystem::path output = NewDirectory() / "out";
    const std::vector<std::string> batch = {"batch", "--input", input, "--output", output};
    Command command = ScorecastCommand(batch, 1);
    command.arguments.insert(command.arguments.end(), {"--model", model_, ":", "-n", "1"});
    for (const auto& part : {second_program, batch, second_flags}) {
      command.arguments.insert(command.arguments.end(), part.begin(), part.end());
    }
    return ::scorecast::testing::Run(command);
  }

  /// Runs them, and returns the line with which they end.
  std::string Refusal(const std::vector<std::string>& second_flags,
                      const std::vector<std::string>& second_program = {kScorecastProgram}) const {
    const ProcessResult result = RunTwo(second_program, second_flags);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 1);
    std::string refusal;
    for (const std::string& line : LinesOf(result.err)) {
      if (line.starts_with("scorecast: ")) {
        EXPECT_EQ(refusal, "") << result.err;
        refusal = line;
      }
    }
    EXPECT_THAT(refusal, ContainsRegex("^scorecast: rank 1: host [^ ]+"));
    return refusal;
  }

  std::filesystem::path model_ = MakeModel("");
};

// A different directory is allowed.
TEST_F(StartupAgreement, ACopy) {
  const ProcessResult result = RunTwo({kScorecastProgram}, {"--model", Copy()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(StartupAgreement, OtherWeightsOfTheSameShapes) {
  const std::filesystem::path stale = Copy();
  std::string weights = ReadFile(stale / "model.safetensors");
  weights.back() = static_cast<char>(weights.back() ^ 1);
  WriteFile(stale / "model.safetensors", weights);
  EXPECT_THAT(Refusal({"--model", stale}),
              HasSubstr((stale / "model.safetensors").string() + " differs from rank 0's"));
}

TEST_F(StartupAgreement, AnotherDepth) {
  const std::filesystem::path other = Copy();
  json config = json::parse(ReadFile(other / "config.json"));
  config["num_hidden_layers"] = config.at("num_hidden_layers").get<int>() + 1;
  WriteFile(other / "config.json", config.dump());
  EXPECT_THAT(Refusal({"--model", other}),
              HasSubstr((other / "config.json").string() + " differs from rank 0's"));
}

TEST_F(StartupAgreement, OtherArgumentsOfTheConfig) {
  model_ = std::filesystem::path(reference::kTestsDirectory) / "golden" / "encoders" / "st-lengths";
  const std::filesystem::path other = Copy();
  const std::filesystem::path file = other / "sentence_bert_config.json";
  json config = json::parse(ReadFile(file));
  config["config_kwargs"] = {{"layer_norm_eps", 0.5}};
  WriteFile(file, config.dump());
  EXPECT_THAT(Refusal({"--model", other}),
              HasSubstr(file.string() + ": config_kwargs differs from rank 0's"));
}

TEST_F(StartupAgreement, OtherLimits) {
  EXPECT_THAT(Refusal({"--model", model_, "--max-batch-tokens", "100"}),
              HasSubstr("--max-batch-tokens 100 differs from rank 0's"));
  EXPECT_THAT(Refusal({"--model", model_, "--one-by-one"}),
              HasSubstr("--one-by-one (given) differs from rank 0's"));
}

TEST_F(StartupAgreement, AnotherIgnoredKey) {
  EXPECT_THAT(Refusal({"--model", model_, "--ignore-config-key", "config.json:alibi"}),
              HasSubstr("--ignore-config-key \"config.json:alibi\" differs from rank 0's"));
}

TEST_F(StartupAgreement, AnotherRerankTemplate) {
  EXPECT_THAT(Refusal({"--model", model_, "--rerank-template", "zerank"}),
              HasSubstr("--rerank-template zerank differs from rank 0's"));
}

/// Gives a copy of the program another build id.
void ChangeBuildId(std::string& program) {
  const std::string note = {'\x04',          0, 0, 0, '\x14', 0,   0,   0,
                            NT_GNU_BUILD_ID, 0, 0, 0, 'G',    'N', 'U', 0};
  const std::size_t at = program.find(note);
  ASSERT_NE(at, std::string::npos);
  program[at + note.size()] = static_cast<char>(program[at + note.size()] ^ 1);
}

TEST_F(StartupAgreement, AnotherBuild) {
  const std::filesystem::path other = NewDirectory() / "scorecast";
  std::filesystem::copy(kScorecastProgram, other);
  std::string program = ReadFile(other);
  ChangeBuildId(program);
  WriteFile(other, program);
  EXPECT_THAT(Refusal({"--model", model_}, {other}), HasSubstr("runs another build of scorecast"));
}

#if defined(__x86_64__)

/// A program that finds other kernels of OpenBLAS, as on a host with an older CPU.
const std::vector<std::string> kWithOlderKernels = {"env", "OPENBLAS_CORETYPE=Prescott",
                                                    kScorecastProgram};

TEST_F(StartupAgreement, OtherKernelsOfALibrary) {
  EXPECT_THAT(Refusal({"--model", model_, "--kernel", "generic"}, kWithOlderKernels),
              ContainsRegex("the library of products is OpenBLAS [0-9.]+ Prescott, and rank 0 has "
                            "OpenBLAS [0-9.]+ [A-Za-z0-9]+$"));
}

TEST_F(StartupAgreement, KernelsOfALibraryThatComputesNothingAreFree) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    GTEST_SKIP() << "OpenBLAS computes on this CPU";
  }
  const ProcessResult result = RunTwo(kWithOlderKernels, {"--model", model_, "--kernel", "avx2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

#endif

}  // namespace startup_agreement_test
}  // namespace scorecast::testing
