// What lines become: responses in OpenAI's format, and records of errors.

#include "coordinator/transports/batch/batch.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/generate/seed.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/batch/batch_run.h"

namespace scorecast::coordinator {
namespace batch_test {

using nlohmann::json;

TEST(Batch, TokenizesWithoutAPass) {
  FakeServer server;
  const BatchRun run = RunText(
      server, R"({"custom_id":"a","method":"POST","url":"/tokenize","body":{"prompt":"ab"}})"
              "\n"
              R"({"custom_id":"b","method":"POST","url":"/detokenize","body":{"ids":[[97],[98]]}})"
              "\n");
  ASSERT_EQ(run.lines.size(), 2u);
  EXPECT_EQ(run.lines[0]["response"]["body"]["tokens"], json::parse("[259,97,98,0]"));
  EXPECT_EQ(run.lines[1]["response"]["body"], json::parse(R"(["a","b"])"));
  EXPECT_TRUE(server.cluster.plans().empty());
}

TEST(Batch, UrlsOfOtherEnginesAreRefusedWithASentence) {
  FakeServer server;
  const BatchRun run = RunText(
      server, R"({"custom_id":"a","method":"POST","url":"/v1/responses","body":{"input":"x"}})"
              "\n");
  ASSERT_EQ(run.lines.size(), 1u);
  ExpectErrorRecord(run.lines[0], "a", 400, "unknown_url", 1);
  EXPECT_THAT(run.lines[0]["error"]["message"].get<std::string>(),
              ::testing::HasSubstr("/v1/chat/completions continues a conversation"));
}

TEST(Batch, AUrlNamesTheModelIfTheBodyNamesNone) {
  ServerOptions options = FakeServer::MultiItem();
  options.model_name = "served";
  options.strict_model_name = true;
  FakeServer server(options);
  const auto reason_of = [&](const std::string& url, const std::string& body) {
    const BatchRun run = RunText(server, R"({"custom_id":"a","method":"POST","url":")" + url +
                                             R"(","body":)" + body + "}\n");
    return run.lines.at(0)["response"]["body"].value("reason", "");
  };
  const std::string rerank = R"({"query":"q","documents":["d"])";
  const std::string pairs = R"({"queries":["q"],"documents":["d"])";
  EXPECT_EQ(reason_of("/inference/org/other", pairs + "}"), "model_not_found");
  EXPECT_EQ(reason_of("/v1/retrieval/other/reranking", rerank + "}"), "model_not_found");
  EXPECT_NE(reason_of("/inference/served", pairs + "}"), "model_not_found");
  EXPECT_NE(reason_of("/v1/rerank", rerank + "}"), "model_not_found");
  EXPECT_NE(reason_of("/inference/other", pairs + R"(,"model":"served"})"), "model_not_found");
}

TEST(Batch, RespondsInOpenAisFormat) {
  FakeServer server;
  const BatchRun run = RunText(server, Line("a", Body(1, R"(,"model":"m","item_first":true)")));
  ASSERT_EQ(run.lines.size(), 1u);
  const json& record = run.lines[0];
  EXPECT_EQ(record["custom_id"], "a");
  EXPECT_TRUE(record["error"].is_null());
  EXPECT_EQ(record["response"]["status_code"], 200);
  const json& body = record["response"]["body"];
  EXPECT_EQ(body["object"], "scoring");
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["scores"].size(), 2u);
  EXPECT_EQ(body["scores"][0].size(), 2u);
  EXPECT_EQ(body["item_first_ignored"], true);
  EXPECT_EQ(body["usage"], json::parse(R"({"prompt_tokens":5,"total_tokens":5,)"
                                       R"("completion_tokens":0,"cached_tokens":0})"));
  for (const char* field : {"queue_ms", "tokenize_ms", "forward_ms", "total_ms"}) {
    EXPECT_TRUE(body["timings"][field].is_number()) << field;
  }
  EXPECT_FALSE(body.contains("token_logprobs"));
  EXPECT_FALSE(body.contains("top_logprobs"));
  EXPECT_EQ(run.summary.end.succeeded, 1);
  EXPECT_EQ(run.summary.ExitCode(), 0);
}

TEST(Batch, OptionalParts) {
  FakeServer server;
  const BatchRun run =
      RunText(server, Line("a", Body(1, R"(,"return_token_logprobs":true,"top_logprobs":3)")) +
                          Line("b", R"({"query":"q","items":"i","labels":[" yes"," no"],)"
                                    R"("apply_softmax":true})") +
                          Line("c", R"({"query":"q","items":[],"labels":[" yes"]})"));
  ASSERT_EQ(run.lines.size(), 3u);
  const json& body = run.lines[0]["response"]["body"];
  EXPECT_EQ(body["token_logprobs"].size(), 2u);
  EXPECT_EQ(body["query_token_logprobs"].size(), 2u);
  ASSERT_EQ(body["top_logprobs"].size(), 3u) << "the query's row and two items";
  EXPECT_EQ(body["top_logprobs"][0].size(), 3u);
  EXPECT_TRUE(body["top_logprobs"][0][0][0].is_number_integer());
  EXPECT_TRUE(body["top_logprobs"][0][0][1].is_number_float());
  const json& scores = run.lines[1]["response"]["body"]["scores"];
  ASSERT_EQ(scores.size(), 1u);
  EXPECT_DOUBLE_EQ(scores[0][0].get<double>() + scores[0][1].get<double>(), 1.0);
  EXPECT_EQ(run.lines[2]["response"]["status_code"], 200);
  EXPECT_EQ(run.lines[2]["response"]["body"]["scores"], json::array());
}

TEST(Batch, ARefusedRequestIsAResponse) {
  FakeServer server;
  const BatchRun run =
      RunText(server, Line("a", R"({"query":[1],"items":[[1],[256]],)"
                                R"("label_token_ids":[5]})") +
                          Line("b", Body(1)) + Line("c", "7") +
                          R"({"custom_id":"d","method":"POST","url":"/v1/score"})");
  ASSERT_EQ(run.lines.size(), 4u);
  const json& response = run.lines[0]["response"];
  EXPECT_EQ(response["status_code"], 400);
  EXPECT_EQ(response["body"]["object"], "error");
  EXPECT_EQ(response["body"]["type"], "BadRequestError");
  EXPECT_EQ(response["body"]["param"], "items[1]");
  EXPECT_EQ(response["body"]["code"], 400);
  EXPECT_EQ(response["body"]["reason"], "delimiter_in_item");
  EXPECT_TRUE(run.lines[0]["error"].is_null());
  EXPECT_EQ(run.lines[1]["response"]["status_code"], 200);
  EXPECT_EQ(run.lines[2]["response"]["body"]["reason"], "wrong_type");
  EXPECT_EQ(run.lines[3]["response"]["body"]["reason"], "wrong_type");
  EXPECT_EQ(run.summary.end.succeeded, 1);
  EXPECT_EQ(run.summary.end.refused, 3);
  EXPECT_EQ(run.summary.ExitCode(), 3);
}

TEST(Batch, ALineThatIsNotARequestIsAnErrorRecordAndTheRunGoesOn) {
  FakeServer server;
  const BatchRun run = RunText(
      server,
      "nonsense\n"
      "\n \t\r\n" +
          Line("good", Body(1)) +
          R"({"method":"POST","url":"/v1/score","body":{}})"
          "\n"
          R"({"custom_id":7,"method":"POST","url":"/v1/score","body":{}})"
          "\n"
          R"({"custom_id":"u","method":"POST","url":"/v1/nothing","body":{}})"
          "\n"
          R"({"custom_id":"n","method":"POST","body":{}})"
          "\n"
          R"({"custom_id":"m","method":"GET","url":"/v1/score","body":{}})"
          "\n"
          "[1]\n"
          "{\"custom_id\":\"\xff\"}\n" +
          std::string(301, '[') + "\n" + std::string(300, '[') + "\n" + Line("last", Body(2)),
      {}, 300);
  ASSERT_EQ(run.lines.size(), 12u);
  ExpectErrorRecord(run.lines[0], nullptr, 400, "invalid_json", 1);
  EXPECT_EQ(run.lines[1]["response"]["status_code"], 200);
  ExpectErrorRecord(run.lines[2], nullptr, 400, "missing_custom_id", 5);
  ExpectErrorRecord(run.lines[3], nullptr, 400, "missing_custom_id", 6);
  ExpectErrorRecord(run.lines[4], "u", 400, "unknown_url", 7);
  ExpectErrorRecord(run.lines[5], "n", 400, "unknown_url", 8);
  ExpectErrorRecord(run.lines[6], "m", 400, "wrong_method", 9);
  ExpectErrorRecord(run.lines[7], nullptr, 400, "missing_custom_id", 10);
  ExpectErrorRecord(run.lines[8], nullptr, 400, "invalid_utf8", 11);
  ExpectErrorRecord(run.lines[9], nullptr, 413, "request_too_large", 12);
  ExpectErrorRecord(run.lines[10], nullptr, 400, "invalid_json", 13);
  EXPECT_EQ(run.lines[11]["custom_id"], "last");
  EXPECT_EQ(run.lines[11]["response"]["status_code"], 200);
  EXPECT_EQ(run.summary.end.succeeded, 2);
  EXPECT_EQ(run.summary.end.error_records, 10);
  EXPECT_EQ(run.summary.ExitCode(), 3);
}

TEST(Batch, AnEmptyInputSucceeds) {
  FakeServer server;
  EXPECT_EQ(RunText(server, "").summary.ExitCode(), 0);
  EXPECT_EQ(RunText(server, "\n\n").summary.ExitCode(), 0);
}

TEST(Batch, ACompletionWithoutASeedHasOneThatFollowsFromTheRunAndTheLine) {
  const auto chunked = [](const std::string& custom_id, const std::string& more) {
    return R"({"custom_id":")" + custom_id +
           R"(","method":"POST","url":"/v1/chunked","body":{"prompt":"p","max_new_tokens":8)" +
           more + "}}\n";
  };
  const std::string sampled = R"(,"temperature":1.5)";
  const std::string lines = chunked("a", sampled) + chunked("b", sampled) +
                            chunked("c", sampled + R"(,"seed":7)") + chunked("d", "");
  FakeServer server;
  BatchOptions options;
  options.seed = 3;
  const BatchRun run = RunText(server, lines, options);
  const auto body = [](const BatchRun& of, std::size_t line) {
    return of.lines.at(line)["response"]["body"];
  };
  EXPECT_EQ(body(run, 0)["seed"], DerivedSeed(3, 0));
  EXPECT_EQ(body(run, 1)["seed"], DerivedSeed(3, 1));
  EXPECT_EQ(body(run, 2)["seed"], 7);
  EXPECT_FALSE(body(run, 3).contains("seed")) << "nothing is drawn";
  EXPECT_NE(body(run, 0)["outputs"], body(run, 1)["outputs"]);
  const BatchRun renamed = RunText(server, chunked("x", sampled) + chunked("x", sampled), options);
  EXPECT_EQ(body(renamed, 0)["outputs"], body(run, 0)["outputs"]);
  EXPECT_EQ(body(renamed, 1)["outputs"], body(run, 1)["outputs"]);
}

TEST(Batch, ALineDoesNotStream) {
  FakeServer server;
  const BatchRun run =
      RunText(server, R"({"custom_id":"a","method":"POST","url":"/v1/chunked",)"
                      R"("body":{"prompt":"p","max_new_tokens":3,"stream":true}})");
  ASSERT_EQ(run.lines.size(), 1u);
  const json& response = run.lines[0]["response"];
  EXPECT_EQ(response["status_code"], 400);
  EXPECT_EQ(response["body"]["reason"], "stream_not_here");
  EXPECT_EQ(response["body"]["param"], "stream");
  EXPECT_TRUE(server.cluster.plans().empty());
}

/// A stream that takes a number of bytes and is then full.

}  // namespace batch_test
}  // namespace scorecast::coordinator
