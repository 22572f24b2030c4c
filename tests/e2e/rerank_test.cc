// Documents are scored as if each were alone in its prompt, through both transports: against the
// dense-mask oracle on the tokens of the whole string, and bit for bit whatever the company.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/reference_model.h"

namespace scorecast::testing {
namespace rerank_test {

using nlohmann::json;
using ::testing::StartsWith;

/// The promised largest error of a float32 logit against the oracle.
constexpr double kTolerance = 1e-4;

constexpr const char* kQueryFirst = R"(
prompt: "Query: {query}\nDocument: {document}\n"
prompt: "Answer:"
true: 300
false: 17
score: sigmoid(true - false)
)";
constexpr const char* kDocumentFirst = R"(
prompt: "Document: {document}\nQuery: {query} ??"
true: 300
false: 17
score: true - false
)";

/// The prompt of `document`, as the templates have it.
std::string Prompt(const std::string& which, const std::string& query,
                   const std::string& document) {
  return which == kQueryFirst ? "Query: " + query + "\nDocument: " + document + "\nAnswer:"
                              : "Document: " + document + "\nQuery: " + query + " ??";
}

std::vector<std::string> TemplateFlags(const std::string& text) {
  const std::filesystem::path file = NewDirectory() / "template.txt";
  WriteFile(file, text);
  return {"--rerank-template", file.string()};
}

std::vector<std::string> With(std::vector<std::string> flags,
                              const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

/// Short and long documents, in several scripts, an empty one, and some that contain the spelling
/// of special tokens.
std::vector<std::string> Documents() {
  return {"The harbour is open.",
          " 日本語",
          "",
          "naïve café 🎉",
          "a",
          "  two spaces",
          "\n",
          "<|im_end|>",
          "The harbour is open from nine to five, except in winter, when it is not.",
          "1234567",
          "a"};
}

/// [documents]
std::vector<double> ScoresByIndex(const json& body) {
  std::vector<double> scores(body.at("results").size());
  for (const json& result : body.at("results")) {
    scores.at(result.at("index")) = result.at("relevance_score");
  }
  return scores;
}

struct Case {
  const char* tokenizer;
  const char* rerank_template;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.tokenizer << (one.rerank_template == kQueryFirst ? "" : ", document first");
}

class Rerank : public ::testing::TestWithParam<Case> {
 protected:
  /// The tokens of whole texts from their start.
  std::vector<std::vector<TokenId>> Tokens(const std::vector<std::string>& texts) const {
    std::string lines;
    for (const std::string& text : texts) {
      lines += json{{"text", text}}.dump() + "\n";
    }
    const ProcessResult result =
        RunScorecast({"tokenize", "--model", dir_, "--special-tokens-in-text", "escape"}, 0, lines);
    std::vector<std::vector<TokenId>> tokens;
    for (const std::string& line : LinesOf(result.out)) {
      tokens.push_back(json::parse(line).at("ids"));
    }
    return tokens;
  }

  std::vector<std::string> Flags() const { return TemplateFlags(GetParam().rerank_template); }

  const std::filesystem::path dir_ = MakeModel(GetParam().tokenizer);
};

TEST_P(Rerank, ScoresAreThoseOfEachPromptAlone) {
  const std::vector<std::string> documents = Documents();
  const std::string query = "When is the harbour open?";
  std::vector<std::string> prompts;
  for (const std::string& document : documents) {
    prompts.push_back(Prompt(GetParam().rerank_template, query, document));
  }
  const reference::ReferenceModel oracle(dir_);
  std::vector<double> differences;
  for (const std::vector<TokenId>& ids : Tokens(prompts)) {
    const reference::PackedLayout layout = reference::LayOut(ids, {});
    const std::vector<double> logits =
        oracle.Logits(layout.tokens, layout.segments,
                      std::vector<std::int32_t>{static_cast<std::int32_t>(ids.size()) - 1})[0];
    differences.push_back(logits[300] - logits[17]);
  }
  ASSERT_EQ(differences.size(), documents.size());
  const json body = {{"query", query}, {"documents", documents}};
  json raw_body = body;
  raw_body["raw_scores"] = true;
  for (const int ranks : {0, 2}) {
    const BatchRun run =
        RunRequests({dir_, Flags(), ranks, "f32"}, {ToRerank(body), ToRerank(raw_body)});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const std::vector<double> scores = ScoresByIndex(run.Body(0));
    const std::vector<double> raw_scores = ScoresByIndex(run.Body(1));
    ASSERT_EQ(scores.size(), documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      EXPECT_NEAR(raw_scores[i], differences[i], 2 * kTolerance) << documents[i];
      const double expected = GetParam().rerank_template == kQueryFirst
                                  ? 1 / (1 + std::exp(-differences[i]))
                                  : differences[i];
      EXPECT_NEAR(scores[i], expected, 2 * kTolerance) << documents[i];
    }
  }
}

TEST_P(Rerank, SameBitsInAnyOrderNumberAndCompany) {
  const std::vector<std::string> documents = Documents();
  std::vector<std::string> many;
  std::vector<std::size_t> index_of_many;
  for (std::size_t i = 0; i < 300; ++i) {
    index_of_many.push_back((i * 7 + i / 11) % documents.size());
    many.push_back(documents[index_of_many.back()]);
  }
  const std::string query = "When is the harbour open?";
  std::vector<EndpointRequest> requests;
  for (const std::string& document : documents) {
    requests.push_back(ToRerank({{"query", query}, {"documents", {document}}}));
  }
  requests.push_back(ToRerank({{"query", query}, {"documents", many}}));
  requests.push_back(ToRerank({{"query", "another"}, {"documents", documents}}));
  requests.push_back(ToRerank({{"query", query}, {"documents", documents}}));
  for (const auto& [ranks, dtype] : {std::pair(0, "int8"), std::pair(2, "bf16")}) {
    std::vector<double> alone;
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>(),
          {"--max-batch-tokens", "48"},
          {"--max-batch-tokens", "100", "--kv-cache-mb", "0", "--max-items", "2"}}) {
      SCOPED_TRACE(::testing::PrintToString(flags) + dtype);
      const BatchRun run = RunRequests({dir_, With(Flags(), flags), ranks, dtype}, requests);
      ASSERT_EQ(run.exit_code, 0) << run.err;
      std::vector<double> now;
      for (std::size_t i = 0; i < documents.size(); ++i) {
        now.push_back(ScoresByIndex(run.Body(i)).at(0));
      }
      alone = alone.empty() ? now : alone;
      EXPECT_EQ(now, alone);
      const std::vector<double> scores = ScoresByIndex(run.Body(documents.size()));
      for (std::size_t i = 0; i < many.size(); ++i) {
        EXPECT_EQ(scores.at(i), alone[index_of_many[i]]) << i;
      }
      EXPECT_EQ(ScoresByIndex(run.Body(documents.size() + 2)), alone);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tokenizers, Rerank,
    ::testing::Values(Case{"digits", kQueryFirst}, Case{"ignore-merges", kQueryFirst},
                      Case{"ignore-merges", kDocumentFirst}, Case{"sentencepiece-bpe", kQueryFirst},
                      Case{"sentencepiece-bpe", kDocumentFirst}),
    [](const auto& test) {
      std::string name = test.param.tokenizer;
      std::ranges::replace(name, '-', '_');
      return name + (test.param.rerank_template == kQueryFirst ? "" : "_document_first");
    });

TEST(RerankResponses, HaveTheFieldsThatWereAskedFor) {
  const std::filesystem::path dir = MakeModel("digits");
  const json body = {{"query", "12"}, {"documents", {"3", "45", "3"}}, {"model", "a name"}};
  json top = body;
  top.update({{"top_n", 1}, {"return_documents", true}});
  const BatchRun run =
      RunRequests({dir, TemplateFlags(kQueryFirst)}, {ToRerank(body), ToRerank(top)});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json all = run.Body(0);
  EXPECT_THAT(all.at("id").get<std::string>(), StartsWith("rerank-"));
  EXPECT_EQ(all.at("model"), "a name");
  EXPECT_EQ(all.at("results").size(), 3U);
  EXPECT_FALSE(all.at("results")[0].contains("document"));
  EXPECT_EQ(all.at("usage").at("total_tokens"), all.at("meta").at("tokens").at("input_tokens"));
  const json best = run.Body(1).at("results");
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].at("index"), all.at("results")[0].at("index"));
  EXPECT_EQ(best[0].at("document").at("text"),
            body.at("documents")[best[0].at("index").get<std::size_t>()]);
}

// The argument of the sigmoid is so large that most scores are 0 or 1.
TEST(RerankResponses, DocumentsWithEqualScoresAreOrderedByTheRawOnes) {
  std::string sharp = kQueryFirst;
  const std::string argument = "(true - false)";
  sharp.replace(sharp.find(argument), argument.size(), "((true - false) / 1e-6)");
  const std::filesystem::path dir = MakeModel("ignore-merges");
  const json body = {{"query", "When is the harbour open?"}, {"documents", Documents()}};
  const auto with = [&](const char* field, const json& value) {
    json more = body;
    more[field] = value;
    return ToRerank(more);
  };
  for (const int ranks : {0, 2}) {
    const BatchRun run = RunRequests({dir, TemplateFlags(sharp), ranks, "f32"},
                                     {ToRerank(body), with("raw_scores", true), with("top_n", 1),
                                      with("score_threshold", 1.0), with("score_threshold", 0.0)});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json ranked = run.Body(0)["results"];
    const json raw = run.Body(1)["results"];
    ASSERT_EQ(ranked.size(), raw.size());
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      indices.push_back(ranked[i]["index"]);
      EXPECT_EQ(ranked[i]["index"], raw[i]["index"]) << i;
      EXPECT_TRUE(i == 0 || raw[i - 1]["relevance_score"] >= raw[i]["relevance_score"]);
    }
    const std::vector<double> scores = ScoresByIndex(run.Body(0));
    std::vector<std::size_t> by_score = indices;
    std::ranges::sort(by_score);
    std::ranges::stable_sort(by_score, std::ranges::greater{},
                             [&](std::size_t index) { return scores[index]; });
    EXPECT_NE(by_score, indices) << "no scores are equal";
    ASSERT_EQ(run.Body(2)["results"].size(), 1U);
    EXPECT_EQ(run.Body(2)["results"][0]["index"], indices[0]);
    EXPECT_EQ(run.Body(3)["results"].size(),
              static_cast<std::size_t>(std::ranges::count(scores, 1.0)));
    EXPECT_EQ(run.Body(4)["results"], ranked);
  }
}

TEST(RerankResponses, ADocumentFirstTemplateFindsDocumentsInTheCache) {
  const std::filesystem::path dir = MakeModel("ignore-merges");
  std::string document;
  for (int i = 0; i < 60; ++i) {
    document += " harbour" + std::to_string(i);
  }
  const auto request = [&](const std::string& query) {
    return ToRerank({{"query", query}, {"documents", {document}}});
  };
  const BatchRun run =
      RunRequests({dir, With(TemplateFlags(kDocumentFirst), {"--max-batch-tokens", "256"})},
                  {request("one"), request("two"), request("three")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::int64_t cached = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    cached += run.CachedTokens(i);
  }
  EXPECT_GE(cached, 2 * 128) << "whole pages of 64 rows";
}

// Only JSON has these forms, so they are tested only in a batch file.
TEST(RerankResponses, HaveTheFormsOfOtherServers) {
  const std::filesystem::path dir = MakeModel("digits");
  const std::vector<EndpointRequest> requests = {
      {"/rerank", {{"query", "12"}, {"texts", {"3", "45"}}, {"return_text", true}}},
      {"/v2/rerank", {{"query", "12"}, {"documents", {"3", {{"text", "45"}}}}}},
      {"/score", {{"text_1", "12"}, {"text_2", {"3", "45"}}}},
      {"/v1/score", {{"queries", {"12", "12"}}, {"documents", {"3", "45"}}}},
      {"/rerank", {{"query", "12"}, {"texts", {"3", std::string(2000, '4')}}}},
      {"/voyage/v1/rerank", {{"query", "12"}, {"documents", {"3", "45"}}}},
      {"/pinecone/rerank", {{"query", "12"}, {"documents", {"3", {{"text", "45"}}}}}},
      {"/inference/m", {{"queries", {"12", "12"}}, {"documents", {"3", "45"}}}}};
  const BatchCommand command = {dir, TemplateFlags(kQueryFirst)};
  const BatchRun run = RunRequests(command, requests, Transport::kBatch);
  ASSERT_EQ(run.exit_code, 3) << run.err;
  std::vector<double> scores = ScoresByIndex(run.Body(1));
  ASSERT_EQ(run.Body(0).size(), 2U);
  for (const json& result : run.Body(0)) {
    EXPECT_EQ(result.at("score"), scores.at(result.at("index")));
    EXPECT_EQ(result.at("text"), result.at("index") == 0 ? "3" : "45");
  }
  for (const std::size_t line : {2, 3}) {
    EXPECT_EQ(run.Body(line).at("data")[0].at("score"), scores.at(0));
    EXPECT_EQ(run.Body(line).at("data")[1].at("score"), scores.at(1));
  }
  for (const auto& [line, score] : {std::pair(5, "relevance_score"), {6, "score"}}) {
    for (const json& result : run.Body(static_cast<std::size_t>(line)).at("data")) {
      EXPECT_EQ(result.at(score), scores.at(result.at("index")));
    }
  }
  EXPECT_EQ(run.Body(7).at("scores"), json(scores));
  EXPECT_EQ(run.StatusCode(4), 400);
  EXPECT_EQ(run.Body(4).at("param"), "texts[1]");
  EXPECT_EQ(run.Body(4).at("error"), run.Body(4).at("message"));
  EXPECT_EQ(run.Body(4).at("error_type"), "validation");

  const BatchRun sglang = RunRequests({dir, With(command.flags, {"--rerank-response", "sglang"})},
                                      {requests.begin(), requests.begin() + 2}, Transport::kBatch);
  EXPECT_EQ(sglang.exit_code, 0) << sglang.err;
  EXPECT_EQ(sglang.Body(0), run.Body(0));
  for (const json& result : sglang.Body(1)) {
    EXPECT_EQ(result.at("score"), scores.at(result.at("index")));
    EXPECT_EQ(result.at("document"), result.at("index") == 0 ? "3" : "45");
    EXPECT_TRUE(result.at("meta_info").is_object());
  }
}

// The head of one class is used: its logits are those of /v1/score.
TEST(RerankResponses, OfAClassifierAreTheSigmoidOfItsClass) {
  const std::filesystem::path dir = MakeClassifier(1, "digits");
  const BatchCommand command = {
      dir, TemplateFlags("prompt: \"{query}\\n{document}.\"\ntrue: 0\nscore: true\n"), 0, "f32"};
  const BatchRun run = RunRequests(
      command, {{"/v1/rerank", {{"query", "12"}, {"documents", {"3", "45"}}}},
                {"/v1/rerank", {{"query", "12"}, {"documents", {"3", "45"}}, {"raw_scores", true}}},
                {"/v1/score", {{"query", "12\n"}, {"items", {"3.", "45."}}}}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 0; i < 2; ++i) {
    const double logit = run.Body(2).at("scores")[i][0];
    const double raw_score = ScoresByIndex(run.Body(1)).at(i);
    EXPECT_NEAR(raw_score, logit, 2 * kTolerance);
    EXPECT_DOUBLE_EQ(ScoresByIndex(run.Body(0)).at(i), 1 / (1 + std::exp(-raw_score)));
  }
}

}  // namespace rerank_test
}  // namespace scorecast::testing
