// Start-up faults give one line on standard error, exit code 1, and no output.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace startup_test {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Matcher;

/// Lines of standard error that scorecast wrote, not mpirun.
std::vector<std::string> OwnLines(const std::string& err) {
  std::vector<std::string> own;
  for (const std::string& line : LinesOf(err)) {
    if (line.starts_with("scorecast: ")) {
      own.push_back(line);
    }
  }
  return own;
}

struct Refusal {
  std::vector<std::string> flags;
  Matcher<std::string> line;
};

class Startup : public ::testing::Test {
 protected:
  Startup() {
    WriteFile(input_, ScoreLine("a", {{"query", {1}}, {"items", {{2}}}, {"label_token_ids", {3}}}));
  }

  ProcessResult RunWith(const std::filesystem::path& model, const std::vector<std::string>& flags,
                        int ranks = 0) const {
    std::vector<std::string> arguments = {"batch", "--model",  model,   "--input",
                                          input_,  "--output", output_, "--restart"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunScorecast(arguments, ranks);
  }

  void ExpectRefused(const std::filesystem::path& model, const Refusal& refusal) const {
    SCOPED_TRACE(::testing::PrintToString(refusal.flags));
    std::filesystem::remove(output_);
    const ProcessResult result = RunWith(model, refusal.flags);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    const std::vector<std::string> lines = LinesOf(result.err);
    ASSERT_EQ(lines.size(), 1U) << result.err;
    EXPECT_TRUE(lines[0].starts_with("scorecast: ")) << lines[0];
    EXPECT_THAT(lines[0], refusal.line);
    EXPECT_FALSE(std::filesystem::exists(output_) && std::filesystem::file_size(output_) > 0);
  }

  const std::filesystem::path dir_ = NewDirectory();
  const std::filesystem::path input_ = dir_ / "in.jsonl";
  const std::filesystem::path output_ = dir_ / "out.jsonl";
  const std::filesystem::path model_ = MakeModel("digits");
};

// The variable names a directory in which Open MPI cannot make its session directory. All programs
// without mpirun would share one.
TEST_F(Startup, WithoutMpirunItMakesNoSessionDirectory) {
  Command command = ScorecastCommand({"batch", "--model", model_, "--input", input_, "--output",
                                      output_, "--multi-item-scoring-delimiter", "7"},
                                     0);
  command.environment.emplace_back("OMPI_MCA_orte_tmpdir_base", "/proc/none");
  const ProcessResult result = testing::Run(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(std::filesystem::file_size(output_), 0U);
}

TEST_F(Startup, AModelThatCannotBeRead) {
  ExpectRefused("/nonexistent/model", {{}, HasSubstr("/nonexistent/model")});
  ExpectRefused(dir_, {{}, HasSubstr("config.json")});
  const json config = json::parse(ReadFile(model_ / "config.json"));
  const auto expect_refused_with = [&](const char* field, const json& value,
                                       const Matcher<std::string>& line) {
    json changed = config;
    changed[field] = value;
    WriteFile(model_ / "config.json", changed.dump());
    ExpectRefused(model_, {{}, line});
  };
  expect_refused_with("architectures", {"MixtralForCausalLM"},
                      AllOf(HasSubstr("MixtralForCausalLM"), HasSubstr("LlamaForCausalLM")));
  // A RoPE option that is not supported would change the model's results.
  expect_refused_with("rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2.0}},
                      HasSubstr("rope_scaling.rope_type is \"dynamic\""));
  expect_refused_with("quantization_config", {{"quant_method", "awq"}}, HasSubstr("awq"));
  WriteFile(model_ / "config.json", config.dump());

  std::filesystem::remove(model_ / "model.safetensors");
  ExpectRefused(model_, {{}, HasSubstr("model.safetensors")});
}

TEST_F(Startup, ABrokenCheckpoint) {
  const std::filesystem::path file = model_ / "model.safetensors";
  const std::string whole = ReadFile(file);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{300}, whole.size() / 2, whole.size() - 1}) {
    SCOPED_TRACE(size);
    WriteFile(file, whole.substr(0, size));
    ExpectRefused(model_, {{}, HasSubstr("model.safetensors")});
  }
}

TEST_F(Startup, ABrokenTokenizer) {
  WriteFile(model_ / "tokenizer.json", "{\"model\":");
  ExpectRefused(model_, {{}, HasSubstr("tokenizer.json")});
}

TEST_F(Startup, TheGenerationConfig) {
  const std::filesystem::path file = model_ / "generation_config.json";
  WriteFile(file, R"({"temperature":0.6,"top_p":7,"num_beams":4})");
  const ProcessResult logged = RunWith(model_, {});
  EXPECT_EQ(logged.exit_code, 0);
  EXPECT_THAT(logged.err, AllOf(HasSubstr("from generation_config.json: temperature 0.6\n"),
                                HasSubstr("generation_config.json: top_p is 7: it must be a "
                                          "number above 0 and at most 1; completions that"),
                                HasSubstr("generation_config.json: num_beams is 4: ")));
  EXPECT_THAT(RunWith(model_, {"--generation-config", "none"}).err,
              ::testing::Not(HasSubstr("num_beams")));
  WriteFile(file, R"({"temperature":0.6,"top_p":0.7})");
  EXPECT_THAT(RunWith(model_, {}).err,
              HasSubstr("from generation_config.json: temperature 0.6, top_p 0.7\n"));
  WriteFile(file, "");
  ExpectRefused(model_, {{}, HasSubstr(file.string() + ": not valid JSON at byte 1")});
}

TEST_F(Startup, KeysThatNobodyReadsAndKeysThatAreRefused) {
  json config = json::parse(ReadFile(model_ / "config.json"));
  config["gradient_checkpointing"] = false;
  config["unsloth_fixed"] = true;
  WriteFile(model_ / "config.json", config.dump());
  EXPECT_THAT(RunWith(model_, {}, 2).err,
              HasSubstr("config.json: nobody reads gradient_checkpointing, unsloth_fixed\n"));
  ExpectRefused(model_, {{"--ignore-config-key", "config.json:unsloth_fixed"},
                         HasSubstr("--ignore-config-key config.json:unsloth_fixed: nobody reads")});
  ExpectRefused(model_, {{"--ignore-config-key", "config.json"},
                         HasSubstr("--ignore-config-key \"config.json\": it must be FILE:KEY")});
  config["logit_scale"] = 2;
  WriteFile(model_ / "config.json", config.dump());
  ExpectRefused(model_, {{}, HasSubstr("config.json: logit_scale is 2: not supported")});
  const ProcessResult overridden =
      RunWith(model_, {"--ignore-config-key", "config.json:logit_scale"}, 2);
  EXPECT_EQ(overridden.exit_code, 0) << overridden.err;
  EXPECT_THAT(overridden.err, HasSubstr("--ignore-config-key config.json:logit_scale: the model is "
                                        "loaded as if the file had no such key\n"));
}

TEST_F(Startup, AnAdapterBesideTheWeightsIsNamedOnce) {
  const std::string line = "warning: adapter_config.json: the adapter is not applied";
  const auto log = [&] { return RunWith(model_, {}, 2).err; };
  EXPECT_THAT(log(), ::testing::Not(HasSubstr("adapter")));
  WriteFile(model_ / "adapter_config.json", R"({"peft_type":"LORA"})");
  const std::string err = log();
  EXPECT_THAT(err, HasSubstr("adapter_config.json: the adapter is not applied"));
  EXPECT_EQ(err.find("adapter"), err.rfind("adapter_config.json")) << err;
}

TEST_F(Startup, TheDelimiter) {
  const auto flag = [](const std::string& value) {
    return std::vector<std::string>{"--multi-item-scoring-delimiter", value};
  };
  ExpectRefused(model_, {flag("two words"), AllOf(HasSubstr("two words"), HasSubstr("one token"))});
  ExpectRefused(model_, {flag("720"), AllOf(HasSubstr("720"), HasSubstr("vocabulary"))});
  ExpectRefused(model_, {flag("99999999999999999999"), HasSubstr("vocabulary")});
  ExpectRefused(model_, {flag("-1"), HasSubstr("multi-item-scoring-delimiter")});
  ExpectRefused(MakeModel(""), {flag("<d>"), HasSubstr("no tokenizer")});
}

TEST_F(Startup, ContradictoryModes) {
  const std::vector<std::string> delimiter = {"--multi-item-scoring-delimiter", "7"};
  ExpectRefused(model_, {{"--one-by-one", delimiter[0], delimiter[1]},
                         AllOf(HasSubstr("--one-by-one"), HasSubstr(delimiter[0]))});
  ExpectRefused(model_, {{"--one-by-one", "--enable-mis"},
                         AllOf(HasSubstr("--one-by-one"), HasSubstr("--enable-mis"))});
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--enable-mis"}, {"--one-by-one"}}) {
    std::vector<std::string> visible = {"--delimiter-visibility", "first"};
    visible.insert(visible.end(), flags.begin(), flags.end());
    ExpectRefused(model_, {visible, HasSubstr("needs --multi-item-scoring-delimiter")});
  }
}

TEST_F(Startup, FilesThatCannotBeOpened) {
  const auto run = [&](const std::string& input, const std::string& output) {
    return RunScorecast({"batch", "--model", model_, "--input", input, "--output", output});
  };
  const ProcessResult unreadable = run("/nonexistent/in", output_);
  EXPECT_EQ(unreadable.exit_code, 1);
  EXPECT_EQ(unreadable.err, "scorecast: cannot read /nonexistent/in: No such file or directory\n");
  const ProcessResult unwritable = run(input_, "/nonexistent/out");
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_EQ(unwritable.err,
            "scorecast: cannot write /nonexistent/out: No such file or directory\n");

  const std::string before = ReadFile(input_);
  const ProcessResult same = run(input_, dir_ / "." / "in.jsonl");
  EXPECT_EQ(same.exit_code, 1);
  EXPECT_EQ(OwnLines(same.err).size(), 1U) << same.err;
  EXPECT_EQ(ReadFile(input_), before) << "an output must not destroy the input";

  const ProcessResult directory = run(dir_, output_);
  EXPECT_EQ(directory.exit_code, 1);
  EXPECT_EQ(directory.err, "scorecast: cannot read " + dir_.string() + ": Is a directory\n");

  // This fails only after the run has begun.
  const ProcessResult full = run(input_, "/dev/full");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("scorecast: cannot write /dev/full: No space left on device\n"));
}

TEST_F(Startup, LeavesAnOldOutputAlone) {
  WriteFile(output_, "what was there\n");
  std::filesystem::resize_file(model_ / "model.safetensors", 3000);
  EXPECT_EQ(RunWith(model_, {}).exit_code, 1);
  EXPECT_EQ(ReadFile(output_), "what was there\n");
}

TEST_F(Startup, FaultsOfTheCommandLine) {
  for (const char* dtype : {"float32", "bf8", "f16", "BF16", ""}) {
    ExpectRefused(model_, {{"--dtype", dtype},
                           AllOf(HasSubstr("--dtype"), HasSubstr("auto"), HasSubstr("f32"),
                                 HasSubstr("bf16"), HasSubstr("int8"))});
  }
  ExpectRefused(model_, {{"--kernel", "sse2"},
                         AllOf(HasSubstr("--kernel"), HasSubstr("avx512_bf16"), HasSubstr("avx2"),
                               HasSubstr("generic"))});
  ExpectRefused(model_, {{"--delimiter-visibility", "both"},
                         AllOf(HasSubstr("--delimiter-visibility"), HasSubstr("first"))});
  ExpectRefused(model_, {{"--max-items", "0"}, HasSubstr("--max-items")});
  ExpectRefused(model_, {{"--max-items", "many"}, HasSubstr("--max-items")});
  ExpectRefused(model_, {{"--threads", "-1"}, HasSubstr("--threads")});
  ExpectRefused(model_, {{"--max-chunk-len", "0"}, HasSubstr("--max-chunk-len")});
  ExpectRefused(model_, {{"--chunk-position-strategy", "other"},
                         AllOf(HasSubstr("--chunk-position-strategy"), HasSubstr("offset"))});
  for (const char* separator : {"", "\xff"}) {
    ExpectRefused(model_, {{"--chunk-separator", separator}, HasSubstr("--chunk-separator must")});
  }
  ExpectRefused(
      model_, {{"--unknown", "1", "--other"}, HasSubstr("unknown arguments: --unknown 1 --other")});
  const std::vector<std::vector<std::string>> incomplete = {
      {}, {"nonsense"}, {"batch"}, {"batch", "--model"}, {"tokenize"}, {"inspect", "--ranks", "2"}};
  for (const std::vector<std::string>& arguments : incomplete) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const ProcessResult result = RunScorecast(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
  }
}

TEST_F(Startup, LimitsThatCannotBeHeldInMemory) {
  // 128 layers of 2 x 16384 numbers of two bytes are 8 MiB of K/V for a token: 128 TiB for the
  // longest sequence that the flag allows, and 128 GiB in one layer for the largest pass. The
  // program sees this before it reads a weight.
  json config = json::parse(ReadFile(model_ / "config.json"));
  config["num_hidden_layers"] = 128;
  config["num_attention_heads"] = 64;
  config["num_key_value_heads"] = 64;
  config["head_dim"] = 256;
  WriteFile(model_ / "config.json", config.dump());
  const auto figures = [](const char* flag) {
    return AllOf(ContainsRegex("needs [0-9.e+]+ GiB"), HasSubstr("which has"), HasSubstr(flag));
  };
  ExpectRefused(model_,
                {{"--multi-item-scoring-delimiter", "2", "--max-multi-item-seq-len", "16777216"},
                 figures("--max-multi-item-seq-len")});
  ExpectRefused(model_, {{"--max-batch-tokens", "1048576"}, figures("--max-batch-tokens")});
}

/// The log line that names the dtype, libraries and kernels.
std::string LogOf(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::size_t begin = result.err.find("dtype ");
  return begin == std::string::npos ? "" : result.err.substr(begin, result.err.find('\n') - begin);
}

TEST_F(Startup, TheLogNamesDtypeLibrariesAndKernels) {
  for (const char* dtype : {"f32", "bf16", "int8"}) {
    EXPECT_THAT(LogOf(RunWith(model_, {"--dtype", dtype})),
                ContainsRegex(std::string("^dtype ") + dtype +
                              " by (oneDNN [0-9.]+ |scorecast |OpenBLAS )"));
  }
  // Which dtype `auto` means depends on the instructions of the kernels.
  EXPECT_THAT(LogOf(RunWith(model_, {})),
              ::testing::AnyOf(
                  ContainsRegex(
                      "^dtype f32 by .*, kernels (avx512|avx512_vnni|avx2|avx2_vnni|generic)[,;]"),
                  ContainsRegex("^dtype bf16 by .*, kernels avx512_bf16[,;]")));
  EXPECT_THAT(LogOf(RunWith(model_, {"--dtype", "auto", "--kernel", "generic"})),
              ContainsRegex("^dtype f32 by .*, kernels generic[,;]"));
  // The line names the exchange of sums only if there is more than one rank.
  EXPECT_THAT(LogOf(RunWith(model_, {}, 1)), ::testing::Not(HasSubstr("sums by")));
  EXPECT_THAT(LogOf(RunWith(model_, {}, 2)),
              ContainsRegex(", sums by (shared window|messages .*)[,;]"));
}

// Each kernel set is either used, by the libraries, too, or refused.
TEST_F(Startup, KernelSets) {
  for (const char* set : {"avx512_bf16", "avx512_vnni", "avx512", "avx2_vnni", "avx2", "generic"}) {
    SCOPED_TRACE(set);
    for (const char* dtype : {"f32", "bf16", "int8"}) {
      const ProcessResult result = RunWith(model_, {"--kernel", set, "--dtype", dtype});
      if (result.exit_code == 1) {
        ASSERT_EQ(LinesOf(result.err).size(), 1U) << result.err;
        EXPECT_THAT(
            result.err,
            AllOf(HasSubstr(std::string("--kernel ") + set),
                  ContainsRegex("this CPU has no [A-Z0-9, -]+; its best kernels are [a-z0-9_]+")));
        continue;
      }
      EXPECT_THAT(LogOf(result), ContainsRegex(std::string("^dtype ") + dtype + " by .*, kernels " +
                                               set + "[,;]"));
      if (std::string(set) == "generic" || std::string(set).starts_with("avx2")) {
        EXPECT_THAT(LogOf(result), ::testing::Not(HasSubstr("avx512")));
      }
    }
  }
}

// Tests two ranks as on two hosts, one of which has an older CPU.
TEST_F(Startup, RanksUseTheKernelsThatAllOfThemHave) {
  const std::vector<std::string> arguments = {"batch",    "--model", model_,    "--input", input_,
                                              "--output", output_,   "--dtype", "int8"};
  Command command = ScorecastCommand(arguments, 1);
  command.arguments.insert(command.arguments.end(), {":", "-n", "1"});
  std::vector<std::string> of_older = ScorecastCommand(arguments).arguments;
  of_older.insert(of_older.end(), {"--kernel", "generic"});
  command.arguments.insert(command.arguments.end(), of_older.begin(), of_older.end());
  const ProcessResult result = testing::Run(command);
  EXPECT_THAT(LogOf(result), ContainsRegex("^dtype int8 by scorecast .*, kernels generic[,;]"));
  if (LogOf(RunWith(model_, {})).find("kernels generic") == std::string::npos) {
    EXPECT_THAT(result.err, ContainsRegex("all ranks compute with generic and without AVX2[A-Z0-9, "
                                          "-]*, because rank 1 has none"));
  }
}

TEST_F(Startup, WarnsOfProductsWithoutAKernel) {
  EXPECT_THAT(RunWith(model_, {"--kernel", "generic", "--dtype", "bf16"}).err,
              HasSubstr("bf16 products have no kernel with these instructions: OpenBLAS widens"));
  EXPECT_THAT(RunWith(model_, {"--dtype", "int8", "--kernel", "auto"}).err,
              ::testing::Not(HasSubstr("int8 products have no kernel")));
}

TEST_F(Startup, TheLogNamesTheHeightsOfProducts) {
  const ProcessResult result = RunWith(model_, {"--dtype", "f32"});
  EXPECT_THAT(
      result.err,
      ContainsRegex("rows that a product computes at once: layers( [0-9-]+)+, lm-head( [0-9-]+)+"));
}

TEST_F(Startup, TheEnvironmentLimitsTheInstructionsOfOneDnn) {
  Command command = ScorecastCommand(
      {"batch", "--model", model_, "--input", input_, "--output", output_, "--dtype", "bf16"});
  command.environment.emplace_back("ONEDNN_MAX_CPU_ISA", "AVX2");
  EXPECT_THAT(LogOf(::scorecast::testing::Run(command)),
              ContainsRegex("^dtype bf16 by (scorecast|OpenBLAS) [^,]+, kernels "));
}

// There is one line even if every rank fails.
TEST_F(Startup, UnderMpirunOnlyRank0PrintsTheFault) {
  const auto expect = [&](const std::filesystem::path& model, const std::vector<std::string>& flags,
                          int ranks, const Matcher<std::string>& line) {
    const ProcessResult result = RunWith(model, flags, ranks);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.out, "");
    const std::vector<std::string> own = OwnLines(result.err);
    ASSERT_EQ(own.size(), 1U) << result.err;
    EXPECT_THAT(own[0], line);
  };
  expect(model_, {}, 7, AllOf(HasSubstr("6 query heads"), HasSubstr("7 ranks")));
  expect("/nonexistent", {}, 3, HasSubstr("/nonexistent"));
  expect(model_, {"--multi-item-scoring-delimiter", "720"}, 3, HasSubstr("720"));
  expect(model_, {"--dtype", "f16"}, 3, HasSubstr("--dtype"));
  std::filesystem::resize_file(model_ / "model.safetensors", 3000);
  expect(model_, {}, 3, HasSubstr("model.safetensors"));
}

}  // namespace startup_test
}  // namespace scorecast::testing
