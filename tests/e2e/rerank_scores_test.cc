// The built-in templates through /v1/rerank, as the directories' files ask for them: scores against
// those of whole prompts, of transformers for Qwen3-Reranker's and of the dense-mask oracle for the
// others. The prompts' tokens are the golden ones, made by tests/golden/make/rerank.py.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "proto/model/token_id.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/reference_model.h"

namespace scorecast::testing {
namespace rerank_scores_test {

using nlohmann::json;
using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

/// The promised largest error of a float32 logit against the oracle.
constexpr double kTolerance = 1e-4;

const std::filesystem::path kGolden =
    std::filesystem::path(reference::kTestsDirectory) / "golden" / "rerank";

std::vector<json> JsonLines(const std::filesystem::path& file) {
  std::vector<json> lines;
  for (const std::string& line : LinesOf(ReadFile(file))) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

Ids Joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A rerank request for each group of cases with the same query and instruction.
std::vector<json> Bodies() {
  std::vector<json> bodies;
  for (const json& one : JsonLines(kGolden / "cases.jsonl")) {
    if (bodies.empty() || bodies.back()["query"] != one["query"] ||
        bodies.back()["instruction"] != one["instruction"]) {
      bodies.push_back({{"query", one["query"]},
                        {"instruction", one["instruction"]},
                        {"documents", json::array()}});
    }
    bodies.back()["documents"].push_back(one["document"]);
  }
  return bodies;
}

/// [documents]
std::vector<double> ScoresByIndex(const json& body) {
  std::vector<double> scores(body.at("results").size());
  for (const json& result : body.at("results")) {
    scores.at(result.at("index")) = result.at("relevance_score");
  }
  return scores;
}

TEST(RerankScores, AreThoseOfTransformers) {
  const std::filesystem::path model =
      std::filesystem::path(reference::kSharedDirectory) / "models" / "qwen3-tiny";
  if (!std::filesystem::exists(model)) {
    GTEST_SKIP() << "no reference model at " << model;
  }
  std::vector<EndpointRequest> requests;
  for (const json& body : Bodies()) {
    requests.push_back(ToRerank(body));
  }
  const BatchRun run = RunRequests({model, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("rerank template qwen3-reranker: nothing says that the model is "
                                 "a reranker that is known, but qwen3 models"));
  const std::vector<json> groups = JsonLines(kGolden / "model.jsonl");
  ASSERT_EQ(requests.size(), groups.size());
  std::size_t scores = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const json& expected = groups[i]["scores"];
    const std::vector<double> got = ScoresByIndex(run.Body(i));
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t j = 0; j < got.size(); ++j, ++scores) {
      EXPECT_NEAR(got[j], expected[j].get<double>(), 1e-4) << i << ", " << j;
    }
  }
  EXPECT_EQ(scores, 200u);
}

/// A family's tiny model with a tokenizer of tests/golden/rerank, in a directory with this name.
std::filesystem::path MakeReranker(const std::string& name, const std::string& family,
                                   const std::string& tokenizer, std::int64_t positions = 2048) {
  const std::filesystem::path dir = NewDirectory() / name;
  std::filesystem::create_directory(dir);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::copy_file(kGolden / tokenizer / file, dir / file);
  }
  json config = json::parse(ReadFile(FamilyDirectory(family) / "config.json"));
  config.update({{"vocab_size", 912}, {"max_position_embeddings", positions}});
  WriteFile(dir / "config.json", config.dump());
  reference::WriteRandomWeights(dir, {.config = proto::LoadModelConfig(dir), .seed = 16});
  return dir;
}

/// The logits behind the last token.
std::vector<double> LastLogits(const reference::ReferenceModel& oracle, const Ids& prompt) {
  const reference::PackedLayout layout = reference::LayOut(prompt, {});
  return oracle.Logits(layout.tokens, layout.segments,
                       std::vector{static_cast<std::int32_t>(prompt.size()) - 1})[0];
}

/// The id of a token as tokenizer.json spells it.
std::size_t IdOf(const std::filesystem::path& dir, const std::string& token) {
  return json::parse(ReadFile(dir / "tokenizer.json"))["model"]["vocab"].at(token);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  const char* rerank_template;
  const char* directory;
  const char* family;
  const char* tokenizer;
  const char* true_label;   ///< A token of the vocabulary, or empty: id 0.
  const char* false_label;  ///< Empty: none.
  double (*score)(double raw_score);
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.rerank_template; }

class RerankTemplates : public ::testing::TestWithParam<Case> {
 protected:
  std::size_t Id(const std::string& token) const { return token.empty() ? 0 : IdOf(dir_, token); }

  double RawScore(const reference::ReferenceModel& oracle, const Ids& prompt) const {
    const std::vector<double> logits = LastLogits(oracle, prompt);
    const std::string false_label = GetParam().false_label;
    return logits[Id(GetParam().true_label)] - (false_label.empty() ? 0 : logits[Id(false_label)]);
  }

  const std::filesystem::path dir_ =
      MakeReranker(GetParam().directory, GetParam().family, GetParam().tokenizer);
};

TEST_P(RerankTemplates, ScoresAreThoseOfTheWholePrompts) {
  std::vector<EndpointRequest> requests;
  for (json body : Bodies()) {
    requests.push_back(ToRerank(body));
    body["raw_scores"] = true;
    requests.push_back(ToRerank(body));
  }
  const BatchRun run = RunRequests({dir_, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("rerank template " + std::string(GetParam().rerank_template) +
                                 ": the directory's name, "));
  const reference::ReferenceModel oracle(dir_);
  const std::vector<json> groups =
      JsonLines(kGolden / (std::string(GetParam().rerank_template) + ".jsonl"));
  ASSERT_EQ(requests.size(), 2 * groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const json& group = groups[i];
    const std::vector<double> scores = ScoresByIndex(run.Body(2 * i));
    const std::vector<double> raw_scores = ScoresByIndex(run.Body(2 * i + 1));
    ASSERT_EQ(scores.size(), group["between"].size());
    ASSERT_EQ(raw_scores.size(), group["between"].size());
    // The oracle is slow, so it computes only some of each query's documents, different ones for
    // each query.
    for (std::size_t j = i % 5; j < scores.size(); j += 5) {
      const Ids prompt =
          Joined(Joined(group["prefix"], group["between"][j].get<Ids>()), group["suffix"]);
      const double expected = RawScore(oracle, prompt);
      EXPECT_NEAR(raw_scores[j], expected, 2 * kTolerance) << i << ", " << j;
      EXPECT_NEAR(scores[j], GetParam().score(expected), 2 * kTolerance) << i << ", " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    BuiltIn, RerankTemplates,
    ::testing::Values(Case{"qwen3-reranker", "qwen3-reranker-0.6b", "qwen3", "chat", "yes", "no",
                           Sigmoid},
                      Case{"mxbai-rerank-v2", "mxbai-rerank-base-v2", "qwen2", "chat", "1", "0",
                           [](double raw) { return raw; }},
                      Case{"bge-reranker-v2-gemma", "bge-reranker-v2-gemma", "gemma", "gemma",
                           "Yes", "", [](double raw) { return raw; }},
                      Case{"zerank", "zerank-1", "qwen3", "chat", "Yes", "",
                           [](double raw) { return Sigmoid(raw / 5); }},
                      Case{"contextual-rerank-v2", "ctxl-rerank-v2-instruct-multilingual-1b",
                           "qwen3", "chat", "", "", [](double raw) { return raw; }}),
    [](const auto& test) {
      std::string name = test.param.rerank_template;
      std::erase(name, '-');
      return name;
    });

// The documents' K/V is kept between queries, which changes no bit.
TEST(RerankCache, KeepsDocumentsThatStandBeforeTheQuery) {
  const std::filesystem::path dir = MakeReranker("ctxl-rerank-v2", "qwen3", "chat");
  std::vector<std::string> documents;
  for (int i = 0; i < 5; ++i) {
    documents.emplace_back();
    for (int word = 0; word < 100; ++word) {
      documents.back() += " harbour" + std::to_string(word * (i + 1));
    }
  }
  std::vector<EndpointRequest> requests;
  for (const char* query : {"one", "a second query", "one"}) {
    requests.push_back(ToRerank({{"query", query}, {"documents", documents}}));
  }
  requests.push_back(
      ToRerank({{"query", "one"}, {"documents", documents}, {"instruction", "Be strict"}}));
  // One pass for each document, so that a request ends before the next one begins.
  const std::vector<std::string> flags = {"--max-batch-tokens", "1024"};
  const BatchRun run = RunRequests({dir, flags}, requests);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const BatchRun uncached = RunRequests({dir, {"--kv-cache-mb", "0"}}, requests);
  ASSERT_EQ(uncached.exit_code, 0) << uncached.err;
  std::int64_t cached = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    cached += run.CachedTokens(i);
    EXPECT_EQ(uncached.CachedTokens(i), 0);
    EXPECT_EQ(ScoresByIndex(run.Body(i)), ScoresByIndex(uncached.Body(i)));
  }
  const auto pages = static_cast<std::int64_t>(3 * documents.size() * (200 / 64));
  EXPECT_GE(cached, 64 * pages) << "three requests that find whole pages of all documents";
}

/// Documents that are too long for P1.
class RerankCuts : public ::testing::Test {
 protected:
  static constexpr std::int64_t kPositions = 400;

  RerankCuts() {
    const json group = JsonLines(kGolden / "qwen3-reranker.jsonl").front();
    prefix_ = group["prefix"].get<Ids>();
    suffix_ = group["suffix"].get<Ids>();
    const json body = Bodies().front();
    // The longest document of the first query.
    std::size_t longest = 0;
    for (std::size_t i = 0; i < group["between"].size(); ++i) {
      longest = group["between"][i].size() > group["between"][longest].size() ? i : longest;
    }
    between_ = group["between"][longest].get<Ids>();
    query_ = body["query"];
    document_ = body["documents"][longest];
  }

  json Body(json more = json::object()) const {
    json body = {{"query", query_}, {"documents", {document_}}, {"raw_scores", true}};
    body.update(more);
    return body;
  }

  /// The raw score of a prompt with these tokens in the document's place.
  double RawScore(const Ids& document) const {
    const std::vector<double> logits =
        LastLogits(oracle_, Joined(Joined(prefix_, document), suffix_));
    return logits[Id("yes")] - logits[Id("no")];
  }

  std::size_t Id(const std::string& token) const { return IdOf(dir_, token); }

  Ids First(std::int64_t count) const { return {between_.begin(), between_.begin() + count}; }

  std::int64_t PromptTokens(const json& body) const { return body.at("usage").at("total_tokens"); }

  const std::filesystem::path dir_ = MakeReranker("a1b2c3", "qwen3", "chat", kPositions);
  const reference::ReferenceModel oracle_{dir_};
  Ids prefix_;
  Ids between_;
  Ids suffix_;
  std::string query_;
  std::string document_;
};

TEST_F(RerankCuts, LeaveWhatFollowsTheDocument) {
  const auto others = static_cast<std::int64_t>(prefix_.size() + suffix_.size());
  const auto all = static_cast<std::int64_t>(between_.size());
  ASSERT_GT(others + all, kPositions) << "too long for the model";
  const std::vector<EndpointRequest> requests = {
      ToRerank(Body()), ToRerank(Body({{"max_tokens_per_doc", 10}})),
      ToRerank(Body({{"truncate_prompt_tokens", others + 20}})),
      ToRerank(Body({{"max_tokens_per_doc", 10}, {"truncation_direction", "left"}}))};
  const BatchRun run = RunRequests({dir_, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  // The space before the document belongs to the template. If the document's start is cut, the
  // space is a token of its own.
  const Ids space = {static_cast<TokenId>(Id("Ġ"))};
  const std::vector<Ids> expected = {First(kPositions - others), First(1 + 10), First(20),
                                     Joined(space, Ids(between_.end() - 10, between_.end()))};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(ScoresByIndex(run.Body(i)).at(0), RawScore(expected[i]), 2 * kTolerance) << i;
    EXPECT_EQ(PromptTokens(run.Body(i)), others + static_cast<std::int64_t>(expected[i].size()))
        << i;
  }
}

TEST_F(RerankCuts, AreRefusedIfTheClientSaysSo) {
  const json tei = {{"query", query_}, {"texts", {"short", document_}}};
  json cut = tei;
  cut["truncate"] = true;
  json left = cut;
  left["truncation_direction"] = "Left";
  json whole = Body({{"truncate", false}, {"max_tokens_per_doc", 10}});
  const BatchRun run = RunRequests(
      {dir_}, {{"/rerank", tei}, {"/rerank", cut}, {"/rerank", left}, {"/v1/rerank", whole}});
  ASSERT_EQ(run.exit_code, 3) << run.err;
  EXPECT_EQ(run.StatusCode(0), 400);
  EXPECT_EQ(run.Body(0).at("param"), "texts[1]");
  EXPECT_EQ(run.Body(0).at("reason"), "document_too_long");
  EXPECT_EQ(run.StatusCode(1), 200);
  EXPECT_EQ(run.StatusCode(2), 200);
  EXPECT_NE(run.Body(1), run.Body(2));
  EXPECT_EQ(run.StatusCode(3), 400);
  EXPECT_EQ(run.Body(3).at("param"), "documents[0]");
  EXPECT_EQ(run.Body(3).at("reason"), "document_too_long");
}

}  // namespace rerank_scores_test
}  // namespace scorecast::testing
