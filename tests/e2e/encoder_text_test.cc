// Classifiers that read whole texts, asked with texts: class logits and scores of transformers and
// of sentence-transformers on one rank and on three, through both transports.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace encoder_text_test {

using nlohmann::json;

/// The promised largest errors, ModernBERT's and those of the others.
constexpr double kModernBertTolerance = 5e-5;
constexpr double kTolerance = 2e-5;

struct Model {
  std::string name;
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class EncoderTexts : public ::testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    const std::string& name = GetParam().name;
    dir_ = std::filesystem::path(reference::kTestsDirectory) / "golden" / "encoders" / name;
    if (!std::filesystem::exists(dir_)) {
      dir_ = std::filesystem::path(reference::kSharedDirectory) / "golden" / "encoders" / name;
    }
    if (!std::filesystem::exists(dir_)) {
      GTEST_SKIP() << "no reference data: " << dir_;
    }
    golden_ = json::parse(ReadFile(dir_ / "golden.json"));
    config_ = json::parse(ReadFile(dir_ / "config.json"));
    tolerance_ = name.starts_with("modernbert") ? kModernBertTolerance : kTolerance;
  }

  bool has_one_class() const { return config_.value("id2label", json::object()).size() <= 1; }

  /// Runs the requests on one rank and on three. Each must succeed.
  template <typename Check>
  void OnAllRanks(const std::vector<EndpointRequest>& requests, const Check& check) const {
    for (const int ranks : {0, 3}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      const BatchRun run = RunRequests({dir_, {}, ranks, "f32"}, requests);
      ASSERT_EQ(run.exit_code, 0) << run.err;
      ASSERT_EQ(run.lines.size(), requests.size());
      for (std::size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(requests[i].body.dump());
        ASSERT_EQ(run.StatusCode(i), 200) << run.lines[i];
        check(i, run.Body(i));
      }
    }
  }

  void ExpectLogits(const json& scores, const json& expected) const {
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(scores[i].get<double>(), expected[i].get<double>(), tolerance_) << "class " << i;
    }
  }

  std::filesystem::path dir_;
  json golden_;
  json config_;
  double tolerance_ = 0;
};

json CutOf(const json& record) {
  return {{"truncate_prompt_tokens", record["max_length"]},
          {"truncation_strategy", record["strategy"]},
          {"truncation_direction", record["direction"]}};
}

std::string NameOf(const ::testing::TestParamInfo<Model>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

using EncoderPairs = EncoderTexts;

TEST_P(EncoderPairs, HaveTheReferencesClassLogits) {
  std::vector<EndpointRequest> requests;
  const json& records = golden_["text"];
  ASSERT_GE(records.size(), 10U);
  for (const json& record : records) {
    json body = {{"query", record["query"]}, {"items", {record["document"]}}};
    body.update(CutOf(record));
    requests.push_back(ToScore(std::move(body)));
  }
  OnAllRanks(requests, [&](std::size_t i, const json& body) {
    ExpectLogits(body["scores"][0], records[i]["class_logits"]);
    EXPECT_EQ(body["usage"]["prompt_tokens"], records[i]["ids"].size());
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, EncoderPairs,
    ::testing::Values(Model{"bert-classifier"}, Model{"bert-classifier-labels"},
                      Model{"roberta-classifier"}, Model{"xlm-roberta-classifier"},
                      Model{"distilbert-classifier"}, Model{"modernbert-classifier"}),
    NameOf);

using EncoderRerank = EncoderTexts;

// For llama-bidirectional-classifier, a document is a prompt. Its places are those of the built-in
// template.
TEST_P(EncoderRerank, RawScoresAreClassLogits) {
  std::vector<EndpointRequest> requests;
  const json& records = golden_["text"];
  for (const json& record : records) {
    json body = {
        {"query", record["query"]}, {"documents", {record["document"]}}, {"raw_scores", true}};
    body.update(CutOf(record));
    requests.push_back(ToRerank(std::move(body)));
  }
  OnAllRanks(requests, [&](std::size_t i, const json& body) {
    ASSERT_EQ(body["results"].size(), 1U);
    ExpectLogits(json::array({body["results"][0]["relevance_score"]}), records[i]["class_logits"]);
    EXPECT_EQ(body["usage"]["prompt_tokens"], records[i]["ids"].size());
  });
}

INSTANTIATE_TEST_SUITE_P(All, EncoderRerank,
                         ::testing::Values(Model{"roberta-classifier"},
                                           Model{"llama-bidirectional-classifier"}),
                         NameOf);

using CrossEncoder = EncoderTexts;

// Documents of one query in one request, each alone in another one, and sentence-transformers'
// activation and limit. Documents in one request share their first tokens, if the model is causal.
TEST_P(CrossEncoder, ScoresAreThoseOfPredict) {
  std::vector<EndpointRequest> requests;
  std::vector<std::vector<std::size_t>> records_of_request;
  const json& records = golden_["predict"];
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto same = std::ranges::find_if(requests, [&](const EndpointRequest& request) {
      return request.body["query"] == records[i]["query"];
    });
    const auto index = static_cast<std::size_t>(same - requests.begin());
    if (same == requests.end()) {
      requests.push_back(ToRerank({{"query", records[i]["query"]}, {"documents", json::array()}}));
      records_of_request.emplace_back();
    }
    requests[index].body["documents"].push_back(records[i]["document"]);
    records_of_request[index].push_back(i);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    requests.push_back(ToRerank(
        {{"query", records[i]["query"]}, {"documents", json::array({records[i]["document"]})}}));
    records_of_request.push_back({i});
  }
  OnAllRanks(requests, [&](std::size_t request, const json& body) {
    const std::vector<std::size_t>& indices = records_of_request[request];
    ASSERT_EQ(body["results"].size(), indices.size());
    std::size_t tokens = 0;
    double last = 1e9;
    for (const json& result : body["results"]) {
      const json& record = records[indices[result["index"]]];
      EXPECT_NEAR(result["relevance_score"].get<double>(), record["score"].get<double>(),
                  tolerance_);
      EXPECT_LE(result["relevance_score"].get<double>(), last);
      last = result["relevance_score"];
      tokens += record["ids"].size();
    }
    if (indices.size() > 1 && config_["model_type"] == "qwen3") {
      EXPECT_LT(body["usage"]["prompt_tokens"], tokens);
    } else {
      EXPECT_EQ(body["usage"]["prompt_tokens"], tokens);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, CrossEncoder,
                         ::testing::Values(Model{"st-cross-encoder"},
                                           Model{"st-cross-encoder-classic"},
                                           Model{"st-ettin-cross-encoder"}, Model{"st-qwen3-pair"},
                                           Model{"st-qwen3-message"},
                                           Model{"st-qwen3-logit-score"}),
                         NameOf);

/// The class logits that a golden record has, and what is made of them.
struct ExpectedClasses {
  json logits;
  json scores;
};

using EncoderClasses = EncoderTexts;

// Ids alone, then pairs of texts. `/predict` cuts them as `longest_first`, to the model's limit.
TEST_P(EncoderClasses, HaveTheProbabilitiesOfThePipeline) {
  std::vector<EndpointRequest> requests;
  std::vector<ExpectedClasses> expected;
  const auto ask = [&](const char* url, json body, const json& record) {
    const bool is_raw = body.value("raw_scores", false) || !body.value("use_activation", true);
    requests.push_back({url, std::move(body)});
    expected.push_back({record["class_logits"], record[is_raw ? "class_logits" : "probabilities"]});
  };
  for (const json& record : golden_["classifier"]) {
    if (!record.contains("token_type_ids")) {
      const json input = json::array({record["ids"]});
      ask("/classify", {{"input", input}}, record);
      ask("/pooling", {{"input", input}}, record);
      ask("/classify", {{"input", input}, {"use_activation", false}}, record);
    }
  }
  const std::size_t most = config_["max_position_embeddings"];
  for (const json& record : golden_["text"]) {
    const bool is_whole = record["ids"].size() < most;
    if (record["max_length"] == most && record["document"] != "" &&
        (is_whole || record["strategy"] == "longest_first")) {
      const json inputs = json::array({json::array({record["query"], record["document"]})});
      ask("/predict", {{"inputs", inputs}, {"truncate", true}}, record);
      ask("/predict", {{"inputs", inputs}, {"truncate", true}, {"raw_scores", true}}, record);
    }
  }
  ASSERT_GE(requests.size(), 3U * 5 + 2U * 3);
  OnAllRanks(requests, [&](std::size_t i, const json& body) {
    const auto& [logits, scores] = expected[i];
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (requests[i].url == "/pooling") {
      ExpectLogits(body["data"][0]["data"], scores);
    } else if (requests[i].url == "/classify") {
      ExpectLogits(body["data"][0]["probs"], scores);
      EXPECT_EQ(body["data"][0]["label"], config_["id2label"][std::to_string(best)]);
    } else {
      json found(logits.size(), nullptr);
      double last = 1e9;
      for (const json& prediction : body[0]) {
        std::size_t index = 0;
        while (index < logits.size() &&
               config_["id2label"][std::to_string(index)] != prediction["label"]) {
          ++index;
        }
        ASSERT_LT(index, logits.size()) << prediction;
        found[index] = prediction["score"];
        EXPECT_LE(logits[index].get<double>(), last);
        last = logits[index];
      }
      ExpectLogits(found, scores);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, EncoderClasses,
                         ::testing::Values(Model{"bert-multilabel-classifier"}), NameOf);

// The pipeline returns the class of a regression as it is. sentence-transformers ignores
// problem_type, and so does reranking.
TEST(EncoderRegression, IsTheLogitButForRerank) {
  const std::filesystem::path golden = std::filesystem::path(reference::kTestsDirectory) /
                                       "golden" / "encoders" / "roberta-classifier";
  const std::filesystem::path dir = NewDirectory() / "regression";
  std::filesystem::copy(golden, dir, std::filesystem::copy_options::recursive);
  json config = json::parse(ReadFile(golden / "config.json"));
  config["problem_type"] = "regression";
  WriteFile(dir / "config.json", config.dump());
  const json pair = {{"query", "a"}, {"documents", {"b"}}};
  json raw = pair;
  raw["raw_scores"] = true;
  const std::vector<EndpointRequest> requests = {
      ToRerank(raw), ToRerank(pair), {"/predict", {{"inputs", {"a", "b"}}}}};
  const BatchRun run = RunRequests({dir, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const double logit = run.Body(0)["results"][0]["relevance_score"];
  EXPECT_DOUBLE_EQ(run.Body(1)["results"][0]["relevance_score"].get<double>(),
                   1 / (1 + std::exp(-logit)));
  EXPECT_EQ(run.Body(2)[0]["score"], logit);
}

TEST(EncoderRefusals, OfWhatSuchModelsCannotDo) {
  const std::filesystem::path dir = std::filesystem::path(reference::kTestsDirectory) / "golden" /
                                    "encoders" / "roberta-classifier";
  const std::vector<EndpointRequest> requests = {
      ToChunked({{"prompt", "a"}, {"max_new_tokens", 1}}),
      ToSystemOne(
          {{"state", "a"}, {"questions", {{"q", {{"type", "noul"}, {"instructions", "b"}}}}}}),
      ToScore({{"query", "a"}, {"items", {"b"}}, {"labels", {"c"}}}),
      ToRerank({{"query", "a"},
                {"documents", {"b"}},
                {"truncate", false},
                {"truncate_prompt_tokens", 5}})};
  const BatchRun run = RunRequests({dir, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.lines.size(), requests.size()) << run.err;
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(run.StatusCode(i), 400) << run.lines[i];
    EXPECT_NE(run.lines[i].find("RobertaForSequenceClassification is a classifier"),
              std::string::npos)
        << run.lines[i];
  }
  EXPECT_EQ(run.StatusCode(2), 400) << run.lines[2];
  EXPECT_EQ(run.StatusCode(3), 413) << run.lines[3];
}

}  // namespace encoder_text_test
}  // namespace scorecast::testing
