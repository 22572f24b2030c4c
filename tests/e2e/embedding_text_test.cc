// Embedding models, asked with texts: vectors of transformers and of sentence-transformers on one
// rank and on three; every dialect over HTTP; the same bits in any company and through the socket;
// refusals.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/http_transport.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/socket_transport.h"
#include "tests/reference/directories.h"

namespace scorecast::testing {
namespace embedding_text_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// The promised largest error.
constexpr double kTolerance = 2e-5;

struct Model {
  std::string name;
  int ranks = 3;  ///< At most as many as it has heads.
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

std::filesystem::path DirectoryOf(const std::string& name) {
  const std::filesystem::path own =
      std::filesystem::path(reference::kTestsDirectory) / "golden" / "encoders" / name;
  return std::filesystem::exists(own)
             ? own
             : std::filesystem::path(reference::kSharedDirectory) / "golden" / "encoders" / name;
}

class EmbeddingTexts : public ::testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    dir_ = DirectoryOf(GetParam().name);
    if (!std::filesystem::exists(dir_)) {
      GTEST_SKIP() << "no reference data: " << dir_;
    }
    golden_ = json::parse(ReadFile(dir_ / "golden.json"));
  }

  /// The first values of a vector are the expected ones.
  static void ExpectNear(const json& found, const json& expected) {
    ASSERT_GE(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i].get<double>(), expected[i].get<double>(), kTolerance) << "value " << i;
    }
  }

  std::filesystem::path dir_;
  json golden_;
};

std::string NameOf(const ::testing::TestParamInfo<Model>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

json With(const json& record, json body) {
  if (record.contains("prompt_name") && !record["prompt_name"].is_null()) {
    body["prompt_name"] = record["prompt_name"];
  }
  if (record.contains("task") && !record["task"].is_null()) {  // encode_query, encode_document
    body["input_type"] = record["task"];
  }
  return body;
}

TEST_P(EmbeddingTexts, HaveTheReferencesVectors) {
  const json& records = golden_["text"];
  ASSERT_GE(records.size(), 10U);
  std::vector<EndpointRequest> requests;
  json plain = json::array();
  for (const json& record : records) {
    const json most = record["max_length"];
    // An empty text is refused, so its ids are asked for.
    const json input = record["text"] == "" ? record["ids"] : record["text"];
    requests.push_back(
        {"/v1/embeddings", With(record, {{"input", input}, {"truncate_prompt_tokens", most}})});
    plain.push_back(record["ids"]);
  }
  // Ids are taken as they are, and company changes no bit.
  requests.push_back({"/v1/embeddings", {{"input", plain}}});
  for (const int ranks : {0, GetParam().ranks}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const BatchRun run = RunRequests({dir_, {}, ranks, "f32"}, requests);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ASSERT_EQ(run.lines.size(), requests.size());
    const json together = run.Body(records.size())["data"];
    for (std::size_t i = 0; i < records.size(); ++i) {
      SCOPED_TRACE(requests[i].body.dump());
      const json body = run.Body(i);
      ExpectNear(body["data"][0]["embedding"], records[i]["embedding"]);
      EXPECT_EQ(body["data"][0]["embedding"], together[i]["embedding"]);
      EXPECT_EQ(body["usage"]["prompt_tokens"], records[i]["ids"].size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingTexts,
                         ::testing::Values(Model{"bert-embed-text"}, Model{"bert-lower-in-config"},
                                           Model{"qwen3-embed"}, Model{"gemma3-bidirectional", 2},
                                           Model{"xlm-roberta-embed"}),
                         NameOf);

using SentenceTransformers = EmbeddingTexts;

TEST_P(SentenceTransformers, VectorsAreThoseOfEncode) {
  const json& records = golden_["encode"];
  std::vector<EndpointRequest> requests;
  for (const json& record : records) {
    // An empty text is refused, so its ids are asked for.
    const json input = record["text"] == "" ? record["ids"] : record["text"];
    json body = With(record, {{"input", input}, {"truncate", true}});
    if (record.value("normalize_embeddings", false)) {
      body["dimensions"] = record["truncate_dim"];
    }
    requests.push_back({"/v1/embeddings", std::move(body)});
  }
  const BatchRun run = RunRequests({dir_, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (std::size_t i = 0; i < records.size(); ++i) {
    SCOPED_TRACE(requests[i].body.dump());
    ASSERT_EQ(run.StatusCode(i), 200) << run.lines[i];
    ExpectNear(run.Body(i)["data"][0]["embedding"], records[i]["embedding"]);
    if (records[i].contains("ids")) {
      EXPECT_EQ(run.Body(i)["usage"]["prompt_tokens"], records[i]["ids"].size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SentenceTransformers,
                         ::testing::Values(Model{"st-bi-encoder"}, Model{"st-bi-encoder-classic"},
                                           Model{"st-message"}, Model{"st-lengths"},
                                           Model{"st-lengths-override"}, Model{"st-lower-left"}),
                         NameOf);

TEST(EmbeddingDialects, HaveTheSameVectors) {
  const std::filesystem::path dir = DirectoryOf("bert-embed-text");
  if (!std::filesystem::exists(dir)) {
    GTEST_SKIP() << "no reference data: " << dir;
  }
  const json texts = {"Who makes bread?", "The baker makes bread."};
  const std::vector<EndpointRequest> requests = {
      {"/v1/embeddings", {{"input", texts}, {"normalized", true}}},
      {"/embed", {{"inputs", texts}}},
      {"/v1/embed", {{"texts", texts}, {"model", "m"}}},
      {"/v2/embed", {{"texts", texts}, {"model", "m"}, {"embedding_types", {"float"}}}},
      {"/pooling", {{"input", texts}, {"use_activation", true}}},
      {"/similarity", {{"inputs", {{"source_sentence", texts[0]}, {"sentences", texts}}}}},
      {"/rerank", {{"query", texts[0]}, {"documents", texts}}},
      {"/embed_all", {{"inputs", texts[0]}}},
      {"/predict", {{"inputs", texts[0]}}},
      {"/v1/score", {{"query", texts[0]}, {"items", texts}, {"labels", {"a"}}}},
      {"/", {{"inputs", texts}}},
      {"/embed_sparse", {{"inputs", texts}}}};
  const BatchRun run = RunThroughHttp({dir, {}, 0, "f32"}, requests);
  ASSERT_EQ(run.lines.size(), requests.size()) << run.err;
  const json embed = run.Body(1);
  ASSERT_EQ(embed.size(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(run.Body(0)["data"][i]["embedding"], embed[i]);
    EXPECT_EQ(run.Body(4)["data"][i]["data"], embed[i]);
    // These are as the directory says.
    EXPECT_EQ(run.Body(2)["embeddings"][i], run.Body(3)["embeddings"]["float"][i]);
  }
  EXPECT_EQ(run.Body(10), embed);
  EXPECT_NEAR(run.Body(5)[0], 1, 1e-12);
  ASSERT_EQ(run.Body(7).size(), 1U);
  EXPECT_EQ(run.Body(7)[0][0].size(), embed[0].size());
  EXPECT_EQ(run.Body(6)["results"][1]["relevance_score"], run.Body(5)[1]);
  for (const std::size_t i : {8U, 9U}) {
    EXPECT_EQ(run.StatusCode(i), 400) << run.lines[i];
    EXPECT_NE(run.lines[i].find("BertModel is an embedding model"), std::string::npos)
        << run.lines[i];
  }
  EXPECT_EQ(run.StatusCode(11), 404) << run.lines[11];
}

TEST(EmbeddingSimilarities, AreDotProductsIfTheDirectorySaysSo) {
  const json texts = {"Who makes bread?", "The baker makes bread.", "GET /v1/rerank HTTP/1.1"};
  const std::vector<EndpointRequest> requests = {
      {"/v1/embeddings", {{"input", texts}}},
      {"/similarity", {{"inputs", {{"source_sentence", texts[0]}, {"sentences", texts}}}}},
      {"/rerank", {{"query", texts[0]}, {"documents", texts}}},
      {"/v1/score", {{"text_1", json::array({texts[0]})}, {"text_2", texts}}}};
  const BatchRun run = RunThroughHttp({DirectoryOf("st-lengths"), {}, 0, "f32"}, requests);
  ASSERT_EQ(run.lines.size(), requests.size()) << run.err;
  std::vector<double> expected;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(run.StatusCode(0), 200) << run.lines[0];
    const json a = run.Body(0)["data"][0]["embedding"];
    const json b = run.Body(0)["data"][i]["embedding"];
    double sum = 0;
    for (std::size_t value = 0; value < a.size(); ++value) {
      // Numbers have as few digits as tell a float from its neighbours.
      sum +=
          static_cast<double>(a[value].get<float>()) * static_cast<double>(b[value].get<float>());
    }
    expected.push_back(sum);
  }
  EXPECT_GT(expected[0], 2) << "vectors are not normalised";
  ASSERT_EQ(run.Body(1).size(), texts.size()) << run.lines[1];
  ASSERT_EQ(run.Body(2)["results"].size(), texts.size()) << run.lines[2];
  ASSERT_EQ(run.Body(3)["data"].size(), texts.size()) << run.lines[3];
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_NEAR(run.Body(1)[i].get<double>(), expected[i], 1e-9);
    EXPECT_NEAR(run.Body(3)["data"][i]["score"].get<double>(), expected[i], 1e-9);
    const json result = run.Body(2)["results"][i];
    EXPECT_NEAR(result["relevance_score"].get<double>(),
                expected[result["index"].get<std::size_t>()], 1e-9);
  }
}

TEST(EmbeddingMessages, SayThatRerankComparesVectors) {
  const std::filesystem::path dir = DirectoryOf("qwen3-embed");
  const BatchRun run =
      RunRequests({dir, {}, 0, "f32"},
                  {ToRerank({{"query", "a"}, {"documents", {"b"}}}),
                   ToRerank({{"query", "a"}, {"documents", {"b"}}, {"instruction", "c"}})});
  EXPECT_EQ(run.StatusCode(0), 200) << run.lines[0];
  EXPECT_EQ(run.StatusCode(1), 400) << run.lines[1];
  EXPECT_THAT(run.err, HasSubstr("rerank template cosine: the model computes embeddings; the score "
                                 "is cosine(query, document)"));
  EXPECT_THAT(run.err, Not(HasSubstr("rerank requests are refused")));
  EXPECT_THAT(RunScorecast({"inspect", "--model", dir}).out,
              HasSubstr("\nrerank\n"
                        "  template            cosine\n"
                        "  why                 the model computes embeddings\n"
                        "  score               cosine(query, document)\n\n"));
}

TEST(EmbeddingTransports, SocketAndHttpHaveTheSameBits) {
  const json texts = {"Who makes bread?", "The baker makes bread.", {5, 6, 7}};
  std::vector<EndpointRequest> requests;
  for (const json& options : std::vector<json>{json::object(),
                                               {{"prompt_name", "query"}},
                                               {{"dimensions", 8}, {"normalized", false}},
                                               {{"encoding_format", "base64"}},
                                               {{"encoding_format", "ubinary"}},
                                               {{"truncate_prompt_tokens", 2}}}) {
    json body = {{"input", texts}};
    body.update(options);
    requests.push_back({"/v1/embeddings", std::move(body)});
  }
  const BatchCommand command = {DirectoryOf("qwen3-embed"), {}, 2, "bf16"};
  const BatchRun socket = RunThroughSocket(command, requests);
  const BatchRun http = RunThroughHttp(command, requests);
  EXPECT_EQ(socket.exit_code, 0) << socket.err;
  EXPECT_EQ(http.exit_code, 0) << http.err;
  EXPECT_EQ(socket.Stable(), http.Stable());
}

}  // namespace embedding_text_test
}  // namespace scorecast::testing
