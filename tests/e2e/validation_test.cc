// Faults of requests: each gives a status code, a reason, the field at fault, and a message with
// the value and the limit. The run goes on.

#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace validation_test {

using nlohmann::json;
using ::testing::HasSubstr;

struct Fault {
  std::string name;
  json patch;  ///< Merged into a good body; null removes a field.
  std::string reason;
  json param;
  std::string message;  ///< A part of it.
};

/// True for faults that no protobuf message can have: a wrong type, an unknown field, an id of more
/// than 32 bits, and `items` that is missing (in a message it is the same as an empty list).
bool OnlyJsonCanExpress(const Fault& fault) {
  return fault.reason == "wrong_type" || fault.reason == "not_supported" ||
         fault.reason == "id_out_of_range" ||
         (fault.reason == "missing_field" && fault.param == "items");
}

std::vector<Fault> FaultsOfTransport(std::vector<Fault> faults) {
  if (TransportUnderTest() == Transport::kSocket) {
    std::erase_if(faults, [](const Fault& fault) {
      if (OnlyJsonCanExpress(fault)) {
        std::cout << "[ left out ] only JSON can express: " << fault.name << "\n";
      }
      return OnlyJsonCanExpress(fault);
    });
  }
  return faults;
}

/// Sends bad requests between good ones, and checks every response.
void ExpectFaults(const BatchCommand& command, const json& good, const std::vector<Fault>& all) {
  const std::vector<Fault> faults = FaultsOfTransport(all);
  std::vector<json> bodies;
  for (const Fault& fault : faults) {
    json body = good;
    body.merge_patch(fault.patch);
    bodies.push_back(body);
    bodies.push_back(good);
  }
  const BatchRun run = RunBatch(command, bodies);
  EXPECT_EQ(run.exit_code, 3) << run.err;
  ASSERT_EQ(run.lines.size(), bodies.size());
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i];
    SCOPED_TRACE(fault.name);
    const json record = run.Record(2 * i);
    EXPECT_TRUE(record.at("error").is_null());
    EXPECT_EQ(run.StatusCode(2 * i), 400);
    const json body = run.Body(2 * i);
    EXPECT_EQ(body.value("object", ""), "error");
    EXPECT_EQ(body.value("type", ""), "BadRequestError");
    EXPECT_EQ(body.value("code", 0), 400);
    EXPECT_EQ(body.value("reason", ""), fault.reason);
    EXPECT_EQ(body.value("param", json()), fault.param);
    EXPECT_THAT(body.value("message", ""), HasSubstr(fault.message));
    EXPECT_EQ(run.StatusCode(2 * i + 1), 200);
    EXPECT_EQ(run.Body(2 * i + 1).at("scores").dump(), run.Body(1).at("scores").dump());
  }
}

const json kIds = {{"query", {10, 11, 12}},
                   {"items", {{20, 21}, {22}, json::array()}},
                   {"label_token_ids", {1, 2}}};

/// Faults of both modes, as patches of `kIds`. Expects --max-items 4.
std::vector<Fault> FaultsOfIds() {
  const json long_query = std::vector<int>(300, 5);
  return {
      {"empty query", {{"query", json::array()}}, "empty_query", "query", "no token"},
      {"no query", {{"query", nullptr}}, "missing_field", "query", "query"},
      {"no items", {{"items", nullptr}}, "missing_field", "items", "items"},
      {"too many items",
       {{"items", {{1}, {1}, {1}, {1}, {1}}}},
       "too_many_items",
       "items",
       "5 > 4"},
      {"position past the model's", {{"query", long_query}}, "too_many_positions", nullptr, ""},
      {"label past the vocabulary",
       {{"label_token_ids", {1, 720}}},
       "label_out_of_vocabulary",
       "label_token_ids[1]",
       "720"},
      {"negative label",
       {{"label_token_ids", {-1}}},
       "negative_label",
       "label_token_ids[0]",
       "-1 < 0"},
      {"label twice",
       {{"label_token_ids", {1, 2, 1}}},
       "duplicate_label",
       "label_token_ids[2]",
       "1"},
      {"no label", {{"label_token_ids", json::array()}}, "no_labels", "label_token_ids", ""},
      {"labels left out", {{"label_token_ids", nullptr}}, "no_labels", "label_token_ids", ""},
      {"too few lists of labels",
       {{"label_token_ids", {{1}, {2}}}},
       "label_lists_mismatch",
       "label_token_ids",
       "2 lists for 3 items"},
      {"an empty list of labels",
       {{"label_token_ids", {{1}, json::array(), {3}}}},
       "no_labels",
       "label_token_ids[1]",
       ""},
      {"a label of an item past the vocabulary",
       {{"label_token_ids", {{1}, {2}, {3, 9999}}}},
       "label_out_of_vocabulary",
       "label_token_ids[2][1]",
       "9999"},
      {"generation", {{"max_new_tokens", 3}}, "max_new_tokens_not_zero", "max_new_tokens", "3"},
      {"temperature 0",
       {{"temperature", 0}, {"apply_softmax", true}},
       "temperature_out_of_range",
       "temperature",
       "greater than zero"},
      {"temperature below 0",
       {{"temperature", -0.5}, {"apply_softmax", true}},
       "temperature_out_of_range",
       "temperature",
       ""},
      {"temperature without softmax",
       {{"temperature", 2.0}},
       "temperature_without_softmax",
       "temperature",
       "apply_softmax"},
      {"top_logprobs 51",
       {{"top_logprobs", 51}},
       "top_logprobs_out_of_range",
       "top_logprobs",
       "50, not 51"},
      {"top_logprobs -1",
       {{"top_logprobs", -1}},
       "top_logprobs_out_of_range",
       "top_logprobs",
       "-1"},
      {"timeout 0", {{"timeout_ms", 0}}, "timeout_out_of_range", "timeout_ms", "0"},
      {"priority 11", {{"priority", 11}}, "priority_out_of_range", "priority", "11"},
      {"an id past the vocabulary",
       {{"items", {{1}, {720}}}},
       "token_out_of_vocabulary",
       "items[1]",
       "720"},
      {"a negative id", {{"query", {1, -4}}}, "token_out_of_vocabulary", "query", "-4"},
      {"an id past 64 bits", {{"query", {1e30}}}, "wrong_type", "query[0]", ""},
      {"an id past 32 bits",
       {{"items", {{5000000000}}}},
       "id_out_of_range",
       "items[0][0]",
       "5000000000"},
      {"text and ids", {{"items", {{1}, "a"}}}, "text_and_ids_mixed", "items[1]", ""},
      {"query of the wrong type", {{"query", 5}}, "wrong_type", "query", "string"},
      {"items of the wrong type", {{"items", 5}}, "wrong_type", "items", ""},
      {"an item of strings",
       {{"items", json::array({json::array({"a", 1})})}},
       "wrong_type",
       "items[0][0]",
       ""},
      {"an item of the wrong type", {{"items", {{1}, 5}}}, "wrong_type", "items[1]", ""},
      {"a fraction for an id", {{"query", {1, 2.5}}}, "wrong_type", "query[1]", "integer"},
      {"labels of the wrong type", {{"label_token_ids", "1"}}, "wrong_type", "label_token_ids", ""},
      {"softmax of the wrong type",
       {{"apply_softmax", "yes"}},
       "wrong_type",
       "apply_softmax",
       "true or false"},
      {"temperature of the wrong type", {{"temperature", "hot"}}, "wrong_type", "temperature", ""},
      {"pooled hidden states",
       {{"return_pooled_hidden_states", true}},
       "not_supported",
       "return_pooled_hidden_states",
       ""},
      {"embedding overrides",
       {{"query_embed_overrides", {1}}},
       "not_supported",
       "query_embed_overrides",
       ""},
      {"text without a tokenizer",
       {{"query", "a"}, {"items", {"b"}}},
       "no_tokenizer",
       "query",
       "ids"},
      {"labels of text without a tokenizer",
       {{"label_token_ids", nullptr}, {"labels", {"yes"}}},
       "no_tokenizer",
       "labels",
       "ids"},
      {"labels and their ids", {{"labels", {"yes"}}}, "labels_given_twice", "labels", ""},
  };
}

TEST(Validation, OfIdsUnderSglangsRules) {
  std::vector<Fault> faults = FaultsOfIds();
  for (Fault& fault : faults) {
    if (fault.reason == "too_many_positions") {
      // The query has 300 tokens and the longest item 2.
      fault.param = "query";
      fault.message = "302 > 256";
    }
  }
  const std::vector<int> longest(250, 5);
  faults.insert(faults.end(),
                {{"query and longest item past the model's positions",
                  {{"query", {1, 2, 3, 4, 5, 6, 8, 9}}, {"items", {{1}, longest, {2}}}},
                  "too_many_positions",
                  "items[1]",
                  "258 > 256"},
                 {"packed sequence too long",
                  {{"items", {longest, longest}}},
                  "sequence_too_long",
                  "items",
                  "503 > 400 tokens"},
                 {"the delimiter in the query",
                  {{"query", {10, 7}}},
                  "delimiter_in_query",
                  "query",
                  "token ID 7, at its token 1"},
                 {"the delimiter in an item",
                  {{"items", {{1}, {2, 3, 7}}}},
                  "delimiter_in_item",
                  "items[1]",
                  "token ID 7, at its token 2"}});
  ExpectFaults({MakeModel(""),
                {"--multi-item-scoring-delimiter", "7", "--max-items", "4",
                 "--max-multi-item-seq-len", "400"}},
               kIds, faults);
}

TEST(Validation, OfIdsOneByOneAndByDefault) {
  std::vector<Fault> faults = FaultsOfIds();
  for (Fault& fault : faults) {
    if (fault.reason == "too_many_positions") {
      fault.param = "items[0]";  // The first prompt that is too long.
      fault.message = "302 > 256";
    }
  }
  ExpectFaults({MakeModel(""), {"--max-items", "4"}}, kIds, faults);
  ExpectFaults({MakeModel(""), {"--max-items", "4", "--one-by-one"}}, kIds, faults);
}

TEST(Validation, OfText) {
  const json good = {{"query", "The harbour"}, {"items", {" a", ""}}, {"labels", {"a", " a"}}};
  const std::vector<Fault> faults = {
      {"empty query", {{"query", ""}}, "empty_query", "query", ""},
      {"text and ids", {{"items", {"a", {1}}}}, "text_and_ids_mixed", "items[1]", ""},
      {"a label of two tokens",
       {{"labels", {"a", "two words"}}},
       "label_not_one_token",
       "labels[1]",
       "two words"},
      {"an empty label", {{"labels", {""}}}, "label_not_one_token", "labels[0]", "is 0"},
      {"a label twice", {{"labels", {"a", "a"}}}, "duplicate_label", "labels[1]", ""},
      {"labels of the wrong type", {{"labels", {"a", 1}}}, "wrong_type", "labels[1]", ""},
      {"the delimiter's spelling in the query",
       {{"query", "a<|im_end|>b"}},
       "delimiter_in_query",
       "query",
       "token ID 2, at its token 1"},
      {"the delimiter's spelling in an item",
       {{"items", {"a", " <|im_end|> "}}},
       "delimiter_in_item",
       "items[1]",
       "token ID 2, at its token 1"},
  };
  ExpectFaults({MakeModel("digits"), {"--multi-item-scoring-delimiter", "<|im_end|>"}}, good,
               faults);
}

TEST(Validation, MaxItemsIs128ByDefault) {
  const auto request = [](std::size_t items) {
    return json{{"query", {1, 2}},
                {"items", std::vector<std::vector<int>>(items, {3})},
                {"label_token_ids", {1}}};
  };
  const BatchRun run = RunBatch({MakeModel(""), {"--multi-item-scoring-delimiter", "7"}},
                                {request(128), request(129), request(1), request(100)});
  EXPECT_EQ(run.exit_code, 3);
  ASSERT_EQ(run.lines.size(), 4U);
  EXPECT_EQ(run.Body(0).at("scores").size(), 128U);
  EXPECT_EQ(run.StatusCode(1), 400);
  EXPECT_EQ(run.Body(1).at("message"), "Too many items: 129 > 128.");
  EXPECT_EQ(run.Body(2).at("scores").size(), 1U);
  EXPECT_EQ(run.Body(3).at("scores").size(), 100U);
}

TEST(Validation, UnusualRequestsThatAreAccepted) {
  const json labels = {1, 2};
  std::vector<json> bodies = {
      {{"query", {1, 2}}, {"items", json::array()}, {"label_token_ids", labels}},
      // An empty item is read at the query's last row.
      {{"query", {1, 2}},
       {"items", {json::array()}},
       {"label_token_ids", labels},
       {"return_token_logprobs", true}},
      {{"query", {1, 2}},
       {"items", {{3}}},
       {"label_token_ids", labels},
       {"item_first", true},
       {"max_new_tokens", 0},
       {"temperature", 1},
       {"model", "a name of the client's"},
       {"unknown", {{"field", 1}}}}};
  if (TransportUnderTest() == Transport::kSocket) {
    bodies[2].erase("unknown");  // A message has no such field.
  }
  const BatchRun run = RunBatch({MakeModel(""), {"--multi-item-scoring-delimiter", "7"}}, bodies);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(run.lines.size(), 3U);
  EXPECT_EQ(run.Body(0).at("scores"), json::array());
  EXPECT_EQ(run.Body(1).at("token_logprobs")[0], run.Body(1).at("query_token_logprobs"));
  EXPECT_EQ(run.Body(2).at("item_first_ignored"), true);
  EXPECT_EQ(run.Body(2).at("model"), "a name of the client's");
  EXPECT_THAT(run.err, HasSubstr("item_first"));
}

class BrokenCheckpoint : public ::testing::TestWithParam<int> {};

TEST_P(BrokenCheckpoint, GivesA500WithTheItemAndTheRunGoesOn) {
  constexpr TokenId kBroken = 50;
  const std::filesystem::path dir = MakeModelWithBrokenToken(kBroken);
  const auto request = [](const json& query, const json& items) {
    return json{{"query", query}, {"items", items}, {"label_token_ids", {1, 2}}};
  };
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--multi-item-scoring-delimiter", "7"}, {}, {"--one-by-one"}}) {
    const BatchRun run = RunBatch(
        {dir, flags, GetParam()},
        {request({1, 2}, {{3}, {4}}), request({1, 2}, {{3}, {4, kBroken}, {5}}),
         request({1, 2}, {{3}, {4}}), request({kBroken}, {{3}}), request({1, 2}, {{3}, {4}})});
    EXPECT_EQ(run.exit_code, 3) << run.err;
    ASSERT_EQ(run.lines.size(), 5U);
    EXPECT_EQ(run.StatusCode(1), 500);
    EXPECT_EQ(run.Body(1).at("reason"), "not_finite");
    EXPECT_EQ(run.Body(1).at("type"), "InternalServerError");
    EXPECT_EQ(run.Body(1).at("param"), "items[1]");
    EXPECT_THAT(run.Body(1).at("message").get<std::string>(), HasSubstr("items[1]"));
    EXPECT_EQ(run.StatusCode(3), 500);
    EXPECT_THAT(run.err, HasSubstr("not_finite"));
    for (const std::size_t good : {0, 2, 4}) {
      EXPECT_EQ(run.StatusCode(good), 200);
      EXPECT_EQ(run.Body(good).at("scores").dump(), run.Body(0).at("scores").dump());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, BrokenCheckpoint, ::testing::Values(0, 3));

}  // namespace validation_test
}  // namespace scorecast::testing
