// `tokenize`, `inspect`, `--help` and `--version`.

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace commands_test {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Version, IsALine) {
  const ProcessResult result = RunScorecast({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ::testing::MatchesRegex("scorecast [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(result.err, "");
}

/// The lines of a help text that are about one flag.
std::string HelpOf(const std::string& help, const std::string& flag) {
  const std::size_t begin = help.find("  " + flag + " ");
  if (begin == std::string::npos) {
    return {};
  }
  return help.substr(begin, help.find("\n  -", begin) - begin);
}

TEST(Help, NamesEveryFlagWithItsDefault) {
  for (const char* command : {"batch", "inspect"}) {
    SCOPED_TRACE(command);
    const ProcessResult result = RunScorecast({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    const std::vector<std::pair<std::string, std::string>> defaults = {
        {"--delimiter-visibility", "=hidden"},
        {"--max-items", "=128"},
        {"--max-multi-item-seq-len", "=8192"},
        {"--special-tokens-in-text", "=allow"},
        {"--chunk-separator", " # # "},
        {"--chunk-position-strategy", "=shared"},
        {"--max-chunk-len", "=8192"},
        {"--max-batch-tokens", "=8192"},
        {"--dtype", "=auto"},
        {"--threads", "=0"},
        {"--kernel", "=auto"},
        {"--log-level", "=info"},
        {"--max-request-bytes", "=16777216"}};
    for (const auto& [flag, value] : defaults) {
      EXPECT_THAT(HelpOf(result.out, flag), HasSubstr(value)) << flag;
    }
    EXPECT_THAT(
        HelpOf(result.out, "--model"),
        HasSubstr(command == std::string("batch") ? "needed without --replicas" : "Excludes: DIR"));
    EXPECT_THAT(HelpOf(result.out, "--one-by-one"), HasSubstr("by itself"));
    EXPECT_THAT(HelpOf(result.out, "--enable-mis"), HasSubstr("SGLang's rules"));
    EXPECT_THAT(HelpOf(result.out, "--multi-item-scoring-delimiter"), HasSubstr("ID|TEXT"));
    // The help names units.
    EXPECT_THAT(HelpOf(result.out, "--max-batch-tokens"), HasSubstr("Tokens"));
    EXPECT_THAT(HelpOf(result.out, "--max-multi-item-seq-len"), HasSubstr("Tokens"));
    EXPECT_THAT(HelpOf(result.out, "--max-request-bytes"), HasSubstr("Bytes"));
  }
  const std::string batch = RunScorecast({"batch", "--help"}).out;
  EXPECT_THAT(HelpOf(batch, "--input"), HasSubstr("REQUIRED"));
  EXPECT_THAT(HelpOf(batch, "--output"), HasSubstr("REQUIRED"));
  EXPECT_THAT(HelpOf(RunScorecast({"inspect", "--help"}).out, "--ranks"), HasSubstr("=1"));
  EXPECT_THAT(HelpOf(RunScorecast({"tokenize", "--help"}).out, "--no-special"), Not(""));
  const ProcessResult all = RunScorecast({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* command : {"batch", "tokenize", "inspect"}) {
    EXPECT_THAT(all.out, HasSubstr(command));
  }
}

class Tokenize : public ::testing::TestWithParam<const char*> {};

TEST_P(Tokenize, GivesTheIdsOfTheReference) {
  // The command needs only the tokenizer's files.
  const std::filesystem::path dir = MakeModel(GetParam());
  std::filesystem::remove(dir / "model.safetensors");
  std::filesystem::remove(dir / "config.json");
  const std::vector<TextVector> vectors = TextVectors(GetParam());
  std::string input;
  for (const TextVector& vector : vectors) {
    input += json{{"text", vector.text}}.dump() + "\n";
  }
  for (const bool special : {true, false}) {
    std::vector<std::string> arguments = {"tokenize", "--model", dir};
    if (!special) {
      arguments.emplace_back("--no-special");
    }
    const ProcessResult result = RunScorecast(arguments, 0, input);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    const std::vector<std::string> lines = LinesOf(result.out);
    ASSERT_EQ(lines.size(), vectors.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::vector<TokenId>& ids = special ? vectors[i].ids_special : vectors[i].ids;
      EXPECT_EQ(lines[i], json({{"ids", ids}}).dump()) << vectors[i].text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tokenize,
                         ::testing::Values("digits", "ignore-merges", "sentencepiece-bpe"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(TokenizeLines, BadOnesGetAnErrorAndTheRunGoesOn) {
  const std::string input =
      "{\"text\":\"a\"}\nno\n{\"text\":5}\n{}\n{\"text\":\"\xff\"}\n{\"text\":\"a\"}";
  const ProcessResult result = RunScorecast({"tokenize", "--model", MakeModel("digits")}, 0, input);
  EXPECT_EQ(result.exit_code, 3);
  const std::vector<std::string> lines = LinesOf(result.out);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "{\"ids\":[67]}");
  EXPECT_EQ(lines[5], lines[0]);
  for (const std::size_t bad : {1, 2, 3, 4}) {
    EXPECT_EQ(json::parse(lines[bad]).at("error").at("line"), bad + 1);
    EXPECT_EQ(json::parse(lines[bad]).at("error").at("code"), 400);
  }
}

TEST(TokenizeLines, NeedATokenizer) {
  const ProcessResult result = RunScorecast({"tokenize", "--model", MakeModel("")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(LinesOf(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("tokenizer.json"));
}

TEST(Inspect, PrintsModelTokenizerPartitionAndMemory) {
  const ProcessResult result =
      RunScorecast({"inspect", "--model", MakeModel("ignore-merges"), "--ranks", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  // Embeddings and lm-head have 2 x 720 x 48 parameters. A layer has 2 x 48 in its norms,
  // (48 + 2 x 16 + 48) x 48 in attention and 3 x 80 x 48 in its MLP. The last norm has 48.
  const int parameters = 2 * 720 * 48 + 2 * (2 * 48 + 128 * 48 + 3 * 80 * 48) + 48;
  for (const std::string& line :
       {std::string("LlamaForCausalLM"), std::string("float32"), std::to_string(parameters),
        std::string("6 query, 2 K/V, head_dim 8"), std::string("720"), std::string("256"),
        std::string("byte-level BPE"), std::string("<|im_end|>"), std::string("562"),
        std::string("partition over 4 ranks"), std::string("MiB")}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  EXPECT_THAT(result.out, ContainsRegex("BOS +560"));
  EXPECT_THAT(result.out, ContainsRegex("\n +0 +0\\.\\.1 +0\\.\\.0 "));
  EXPECT_THAT(result.out, ContainsRegex("\n +3 +5\\.\\.5 +1\\.\\.1 "));
}

TEST(Inspect, MemoryDependsOnTheDtype) {
  const std::filesystem::path model = MakeModel("");
  // Memory of rank 0 in MiB: weights, activations, K/V, and the part of the last two that is
  // touched at start.
  const auto memory = [&](const std::string& dtype) {
    const ProcessResult result =
        RunScorecast({"inspect", "--model", model, "--dtype", dtype, "--kv-cache-mb", "0"});
    EXPECT_THAT(result.out, HasSubstr("MiB, " + dtype + ", "));
    const std::vector<std::string> lines = LinesOf(result.out);
    std::istringstream rank(lines.at(lines.size() - 1));
    std::vector<std::string> words{std::istream_iterator<std::string>(rank), {}};
    std::vector<double> figures;
    for (std::size_t i = words.size() - 4; i < words.size(); ++i) {
      figures.push_back(std::stod(words[i]));
    }
    return figures;
  };
  const std::vector<double> f32 = memory("f32");
  const std::vector<double> bf16 = memory("bf16");
  const std::vector<double> int8 = memory("int8");
  // Elements have two bytes instead of four. Figures have one decimal.
  EXPECT_NEAR(bf16[0], f32[0] / 2, 0.1);
  EXPECT_NEAR(bf16[2], f32[2] / 2, 0.1);
  EXPECT_NEAR(int8[2], f32[2] / 2, 0.1) << "keys and values are bfloat16";
  EXPECT_LT(int8[0], f32[0]);
  EXPECT_LT(bf16[1], f32[1]);
  for (const std::vector<double>& figures : {f32, bf16, int8}) {
    EXPECT_GT(figures[3], 0);
    EXPECT_LT(figures[3], figures[1] + figures[2]);
  }
}

TEST(Inspect, AModelWithoutATokenizer) {
  const ProcessResult result = RunScorecast({"inspect", "--model", FamilyDirectory("qwen3")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Qwen3ForCausalLM"));
  EXPECT_THAT(result.out, HasSubstr("token ids only"));
}

// A FIFO in the directory is refused, because opening it would wait for a writer.
TEST(Inspect, RefusesAFifo) {
  const std::filesystem::path model = MakeModel("digits");
  const std::filesystem::path file = model / "generation_config.json";
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const ProcessResult result = RunScorecast({"inspect", "--model", model});
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "scorecast: " + file.string() + ": not a regular file\n");
}

TEST(Inspect, PrintsTheKeysOfAllFiles) {
  const std::filesystem::path model = MakeModel("digits");
  json config = json::parse(ReadFile(model / "config.json"));
  config["gradient_checkpointing"] = true;
  config["attention_dropout"] = 0.5;
  WriteFile(model / "config.json", config.dump());
  WriteFile(model / "README.md", "no keys");
  WriteFile(model / "generation_config.json", R"({"num_beams":4})");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"inspect", "--keys", model},
        {"inspect", "--model", model, "--keys"}}) {
    const ProcessResult result = RunScorecast(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, ContainsRegex("(^|\n)config.json\n"));
    EXPECT_THAT(result.out,
                ContainsRegex("\n  architectures +\\[\"LlamaForCausalLM\"\\] +followed\n"));
    EXPECT_THAT(result.out,
                ContainsRegex("\n  attention_dropout +0.5 +no effect: it is for training\n"));
    EXPECT_THAT(result.out, ContainsRegex("\n  gradient_checkpointing +true +read by nobody\n"));
    EXPECT_THAT(result.out, ContainsRegex("\ngeneration_config.json\n  num_beams +4 +refused: "
                                          "beam search is not supported\n"));
    EXPECT_THAT(result.out, HasSubstr("\ntokenizer.json\n"));
    EXPECT_THAT(result.out, HasSubstr("\nREADME.md: read by nobody\n"));
    EXPECT_THAT(result.out, HasSubstr("\nmodel.safetensors: followed\n"));
  }
  // Of a model that is refused, the keys are printed as well.
  config["alibi"] = true;
  WriteFile(model / "config.json", config.dump());
  const ProcessResult refused = RunScorecast({"inspect", "--keys", model});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, ContainsRegex("\n  alibi +true +refused: ALiBi is not supported"));
  EXPECT_THAT(refused.err, HasSubstr("config.json: alibi is true: ALiBi is not supported"));
  EXPECT_EQ(LinesOf(refused.err).size(), 1U);
  const ProcessResult none = RunScorecast({"inspect", "--keys"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("--model is required"));
  const ProcessResult absent = RunScorecast({"inspect", "--keys", "/nonexistent/model"});
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_EQ(absent.out, "");
  EXPECT_THAT(absent.err, HasSubstr("/nonexistent/model is not a directory"));
}

TEST(Inspect, NamesTheHead) {
  EXPECT_THAT(RunScorecast({"inspect", "--model", FamilyDirectory("llama")}).out,
              ContainsRegex("head +lm-head\n"));
  EXPECT_THAT(RunScorecast({"inspect", "--model", FamilyDirectory("qwen3")}).out,
              ContainsRegex("head +lm-head, tied to the embeddings\n"));
  const std::string of_three_classes =
      RunScorecast({"inspect", "--model", FamilyDirectory("qwen2-classifier"), "--ranks", "2"}).out;
  EXPECT_THAT(of_three_classes, ContainsRegex("head +classification, 3 classes\n"
                                              "  class scores +softmax over the classes\n"));
  EXPECT_THAT(of_three_classes, ContainsRegex("\n +0 .* 0\\.\\.2 "));
  EXPECT_THAT(of_three_classes, ContainsRegex("\n +1 .* none "));
}

TEST(Inspect, NamesTheRerankTemplateAndWhy) {
  EXPECT_THAT(RunScorecast({"inspect", "--model", FamilyDirectory("qwen3")}).out,
              HasSubstr("template            none: the model directory has no tokenizer\n"));
  const std::filesystem::path model = MakeModel("ignore-merges");
  const ProcessResult unknown = RunScorecast({"inspect", "--model", model});
  EXPECT_EQ(unknown.exit_code, 0) << unknown.err;
  const std::filesystem::path file = NewDirectory() / "mine.txt";
  WriteFile(file, "prompt: \"{query} {document}\"\ntrue: 7\nscore: sigmoid(true / 2)\n");
  const ProcessResult mine = RunScorecast({"inspect", "--model", model, "--rerank-template", file});
  EXPECT_EQ(mine.exit_code, 0) << mine.err;
  EXPECT_THAT(mine.out, ContainsRegex("template +mine.txt\n"));
  EXPECT_THAT(mine.out, ContainsRegex("why +--rerank-template\n"));
  EXPECT_THAT(mine.out, ContainsRegex("score +sigmoid.true / 2.\n"));
  EXPECT_THAT(mine.out, ContainsRegex("label ids +7\n"));
  WriteFile(file, "prompt: \"{query} {document}\"\ntrue: 7\nscore: 5\n");
  const ProcessResult broken =
      RunScorecast({"inspect", "--model", model, "--rerank-template", file});
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.err, HasSubstr(file.string() + ":3: score must be"));
}

/// A calibration of one rank in float32, as serve --write-calibration writes it.
std::filesystem::path WriteCalibration() {
  const std::filesystem::path file = NewDirectory() / "calibration.json";
  const json pass = {{"rows", 8},       {"keys", 36},        {"reads", 1},
                     {"seconds", 0.01}, {"products", 0.006}, {"attention", 0.002},
                     {"other", 0.0015}, {"communication", 0}};
  WriteFile(file, json{{"scorecast_calibration", 1},
                       {"version", "0.1.0"},
                       {"kernels", "avx2"},
                       {"dtype", "f32"},
                       {"lm_head_dtype", "f32"},
                       {"layer_backend", "scorecast"},
                       {"lm_head_backend", "scorecast"},
                       {"layer_weight_bytes", 4},
                       {"lm_head_weight_bytes", 4},
                       {"layout", {{"hosts", 1}, {"ranks_a_host", 1}, {"threads", 2}}},
                       {"model",
                        {{"hidden_size", 64},
                         {"layers", 2},
                         {"heads", 4},
                         {"kv_heads", 2},
                         {"head_dim", 16},
                         {"intermediate_size", 128},
                         {"outputs", 256},
                         {"gated", true}}},
                       {"passes", json::array({pass})}}
                      .dump());
  return file;
}

TEST(InspectHosts, PredictsFromConfigAndCalibration) {
  const std::filesystem::path model = NewDirectory();
  std::filesystem::copy_file(std::filesystem::path(FamilyDirectory("qwen3")) / "config.json",
                             model / "config.json");
  std::vector<std::string> arguments = {"inspect",
                                        "--model",
                                        model,
                                        "--hosts",
                                        "2",
                                        "--cores",
                                        "4",
                                        "--bandwidth",
                                        "1",
                                        "--calibration",
                                        WriteCalibration(),
                                        "--host-memory",
                                        "8",
                                        "--query-tokens",
                                        "10",
                                        "--items",
                                        "9",
                                        "--item-tokens",
                                        "10"};
  const ProcessResult text = RunScorecast(arguments);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, HasSubstr("9 items of 10 tokens behind a query of 10: 100 rows in 1 pass"));
  EXPECT_THAT(text.out, HasSubstr("\nmost items/s\n"));
  EXPECT_THAT(text.out, HasSubstr("\nshortest p50\n"));
  EXPECT_THAT(text.out, HasSubstr("a core is as fast beside 3 others as beside 1\n"));
  EXPECT_THAT(text.out, HasSubstr("a message between hosts takes 20 us\n"));

  arguments.emplace_back("--json");
  const ProcessResult result = RunScorecast(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = json::parse(result.out);
  EXPECT_EQ(answer.at("best").size(), 2);
  EXPECT_EQ(answer.at("best").at(0).at("most_items").at("hosts"), 1);
  int on_two_hosts = 0;
  for (const json& layout : answer.at("layouts")) {
    if (layout.at("hosts") == 2) {
      ++on_two_hosts;
      // Three layers of hidden size 64 in float32. Two of them share and sum twice, the last one
      // shares all rows once, and then handles 9; half of each on another host.
      EXPECT_EQ(layout.at("host_bytes"), (100 * (2 * 4 + 1) + 9 * 4) * 256 / 2);
    } else {
      EXPECT_EQ(layout.at("host_bytes"), 0);
    }
    EXPECT_GT(layout.at("p50_s"), 0);
  }
  EXPECT_EQ(on_two_hosts, 3) << "1, 2 and 4 ranks a host";
}

TEST(InspectHosts, SaysWhatIsMissingOrWrong) {
  const std::filesystem::path calibration = WriteCalibration();
  const auto error_of = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"inspect", "--model", FamilyDirectory("qwen3")});
    const ProcessResult result = RunScorecast(flags);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(LinesOf(result.err).size(), 1);
    return result.err;
  };
  EXPECT_THAT(error_of({"--hosts", "2", "--cores", "4"}), HasSubstr("--calibration"));
  EXPECT_THAT(error_of({"--cores", "4"}), HasSubstr("--hosts"));
  const std::vector<std::string> flags = {"--hosts", "2", "--cores", "4", "--calibration"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return more;
  };
  EXPECT_THAT(error_of(with({calibration})), HasSubstr("--hosts 2 needs --bandwidth"));
  EXPECT_THAT(error_of(with({calibration, "--bandwidth", "1", "--dtype", "bf16"})),
              HasSubstr("--dtype bf16: " + calibration.string() + " is a calibration of f32"));
  EXPECT_THAT(error_of(with({calibration, "--bandwidth", "0"})), HasSubstr("--bandwidth"));
  EXPECT_THAT(error_of(with({"/no/file", "--bandwidth", "1"})), HasSubstr("/no/file"));
  WriteFile(calibration, "{}");
  EXPECT_EQ(error_of(with({calibration, "--bandwidth", "1"})),
            "scorecast: " + calibration.string() +
                ": not a calibration: scorecast_calibration is missing\n");
}

TEST(Inspect, ShowsTheModulesThatMakeAScore) {
  const ProcessResult result = RunScorecast({"inspect", "--model",
                                             std::filesystem::path(reference::kTestsDirectory) /
                                                 "golden" / "encoders" / "st-ettin-cross-encoder"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("classification, 1 class: cls pooling, dense to 24 without "
                                    "bias, gelu, layer norm, dense to 1: 1 value\n"));
  EXPECT_THAT(result.out, HasSubstr("pair"));
  EXPECT_THAT(result.out, HasSubstr("Identity says config_sentence_transformers.json"));
}

// Prompts of a directory as sentence-transformers saves it, then those of the flag.
TEST(Inspect, ListsThePromptsOfAnEmbeddingModel) {
  const std::filesystem::path model = NewDirectory();
  std::filesystem::copy(
      std::filesystem::path(reference::kTestsDirectory) / "golden" / "encoders" / "bert-embed",
      model, std::filesystem::copy_options::recursive);
  EXPECT_THAT(RunScorecast({"inspect", "--model", model}).out,
              HasSubstr("\nembeddings\n"
                        "  similarity          cosine\n"
                        "  prompts             none\n"));
  WriteFile(model / "config_sentence_transformers.json",
            R"({"prompts":{"query":"Find:\nQ: ","STS":""},"default_prompt_name":"query",
                "similarity_fn_name":"dot"})");
  const ProcessResult result =
      RunScorecast({"inspect", "--model", model, "--prompt", "passage=P: "});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nembeddings\n"
                                    "  similarity          dot\n"
                                    "  default prompt      query\n"
                                    "  prompts' rows       pooled with those of the text\n"
                                    "  prompts\n"
                                    "    STS               \"\"\n"
                                    "    query             \"Find:\\x0aQ: \"\n"
                                    "    passage           \"P: \"\n"));
  const ProcessResult other =
      RunScorecast({"inspect", "--model", FamilyDirectory("qwen3"), "--prompt", "query=Q: "});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("--prompt needs an embedding model, and Qwen3ForCausalLM is"));
}

TEST(Inspect, NamesFamilyHeadRopeAndWindows) {
  const std::string gemma = RunScorecast({"inspect", "--model", FamilyDirectory("gemma3")}).out;
  EXPECT_THAT(gemma, ContainsRegex("\n  family +gemma3_text\n"));
  EXPECT_THAT(gemma, ContainsRegex("\n  head +lm-head, tied to the embeddings\n"));
  EXPECT_THAT(gemma, ContainsRegex("\n  context length +512 tokens\n"));
  EXPECT_THAT(gemma, ContainsRegex("\n  RoPE +theta 1e\\+06; theta 10000\n"));
  EXPECT_THAT(gemma, ContainsRegex("\n  sliding windows +16 in 4 layers\n"));
  const std::string classifier =
      RunScorecast({"inspect", "--model", FamilyDirectory("qwen2-classifier")}).out;
  EXPECT_THAT(classifier, ContainsRegex("\n  head +classification, 3 classes\n"));
  EXPECT_THAT(classifier, ContainsRegex("\n  sliding windows +none\n"));
  EXPECT_THAT(RunScorecast({"inspect", "--model", FamilyDirectory("llama3")}).out,
              ContainsRegex("\n  RoPE +theta 500000, llama3, factor 8\n"));
}

TEST(Inspect, NamesAllThatStandsInTheWayOfAModel) {
  const std::filesystem::path model = MakeModel("ignore-merges");
  json config = json::parse(ReadFile(model / "config.json"));
  config["quantization_config"] = {{"quant_method", "gptq"}};
  WriteFile(model / "config.json", config.dump());
  const ProcessResult readable_tokenizer = RunScorecast({"inspect", "--model", model});
  EXPECT_EQ(readable_tokenizer.exit_code, 1);
  EXPECT_THAT(readable_tokenizer.out, HasSubstr("byte-level BPE"));
  WriteFile(model / "tokenizer.json", R"({"model":{"type":"WordLevel"}})");
  const ProcessResult result = RunScorecast({"inspect", "--model", model});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  ASSERT_EQ(LinesOf(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("gptq"));
  EXPECT_THAT(result.err, HasSubstr("WordLevel"));
}

TEST(Inspect, RefusesATensorThatTheModelDoesNotHave) {
  const std::filesystem::path model = MakeModel("");
  json config = json::parse(ReadFile(model / "config.json"));
  config["num_hidden_layers"] = 1;  // The checkpoint has two layers.
  WriteFile(model / "config.json", config.dump());
  const ProcessResult result = RunScorecast({"inspect", "--model", model});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("LlamaForCausalLM"));
  ASSERT_EQ(LinesOf(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, ContainsRegex("the checkpoint has a tensor \"model\\.layers\\.1\\."));
  EXPECT_THAT(result.err, HasSubstr("that config.json does not account for"));
}

TEST(Inspect, RefusesMoreRanksThanHeads) {
  const ProcessResult result =
      RunScorecast({"inspect", "--model", FamilyDirectory("qwen3"), "--ranks", "9"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  ASSERT_EQ(LinesOf(result.err).size(), 1U) << result.err;
  EXPECT_THAT(result.err, HasSubstr("8 query heads"));
  EXPECT_THAT(result.err, HasSubstr("9 ranks"));
}

}  // namespace commands_test
}  // namespace scorecast::testing
