// Score requests to classifiers that read whole texts.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_endpoint.h"
#include "tests/coordinator/endpoints/whole_text_server.h"

namespace scorecast::coordinator {
namespace whole_preparation_test {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json Body(const json& query, const json& items, const json& more = json::object()) {
  json body = {{"query", query}, {"items", items}};
  body.update(more);
  return body;
}

TEST(WholeScore, TextsArePairsOfTheTokenizer) {
  const PairServer server;
  const PreparedRequest prepared = server.Prepared(ScoreEndpoint(), Body("q", {"a", ""}));
  ASSERT_EQ(prepared.sequences.size(), 2U);
  EXPECT_THAT(prepared.sequences[0].tokens, ElementsAre(kBos, 'q', 0, kBos, 'a', 0));
  EXPECT_THAT(prepared.sequences[0].token_types, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(prepared.sequences[1].tokens, ElementsAre(kBos, 'q', 0, kBos, 0));
  EXPECT_EQ(prepared.readout->prompt_tokens, 11);
}

TEST(WholeScore, IdsAreTakenAsTheyAre) {
  const PairServer server;
  const PreparedRequest prepared =
      server.Prepared(ScoreEndpoint(), Body({5, 6}, {{7, 8, 9}, json::array(), {1}}));
  ASSERT_EQ(prepared.sequences.size(), 3U);
  EXPECT_THAT(prepared.sequences[0].tokens, ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(prepared.sequences[0].token_types, ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(prepared.sequences[0].reads, ElementsAre(proto::RowRead{.row = 4, .first_row = 0}));
  EXPECT_THAT(prepared.sequences[1].tokens, ElementsAre(5, 6));
  EXPECT_THAT(prepared.sequences[1].token_types, IsEmpty());
  EXPECT_EQ(prepared.readout->prompt_tokens, 10);
}

TEST(WholeScore, EachItemHasItsClassLogits) {
  const PairServer server;
  const OrderedJson response = server.Respond(ScoreEndpoint(), Body({100}, {{200}, {300 - 1}}));
  ASSERT_EQ(response["scores"].size(), 2U);
  EXPECT_NEAR(response["scores"][0][0], 0.3, 1e-6);
  EXPECT_NEAR(response["scores"][1][0], 0.399, 1e-6);
  EXPECT_EQ(response["usage"]["prompt_tokens"], 4);
}

TEST(WholeScore, PairsAreCutAsTheRequestSays) {
  PairServer server;
  server.options_.max_text_tokens = 8;
  const auto cut = [&](const json& more) {
    return server.Prepared(ScoreEndpoint(), Body("abc", {"xyz"}, more)).sequences[0].tokens;
  };
  EXPECT_THAT(cut(json::object()), ElementsAre(kBos, 'a', 'b', 0, kBos, 'x', 'y', 0));
  EXPECT_THAT(cut({{"truncation_strategy", "only_second"}}),
              ElementsAre(kBos, 'a', 'b', 'c', 0, kBos, 'x', 0));
  EXPECT_THAT(cut({{"truncation_direction", "left"}, {"truncate_prompt_tokens", 6}}),
              ElementsAre(kBos, 'c', 0, kBos, 'z', 0));
  EXPECT_EQ(server.FaultOf(ScoreEndpoint(), Body("abc", {"x", "xyz"}, {{"truncate", false}})),
            "413 document_too_long items[1]");
}

TEST(WholeScore, TheModelsDirectoryDecidesWhatTheRequestLeavesOpen) {
  PairServer server;
  server.options_.max_text_tokens = 8;
  server.with_bos_.SetRules({.truncation_side = TruncationSide::kLeft, .gives_token_types = false});
  const auto prepared = [&](const json& more) {
    return server.Prepared(ScoreEndpoint(), Body("abc", {"xyz"}, more)).sequences[0];
  };
  EXPECT_THAT(prepared(json::object()).tokens, ElementsAre(kBos, 'b', 'c', 0, kBos, 'y', 'z', 0));
  EXPECT_THAT(prepared(json::object()).token_types, IsEmpty());
  EXPECT_THAT(prepared({{"truncation_direction", "right"}}).tokens,
              ElementsAre(kBos, 'a', 'b', 0, kBos, 'x', 'y', 0));
  EXPECT_THAT(server.Prepared(ScoreEndpoint(), Body({5, 6}, {{7, 8}})).sequences[0].token_types,
              IsEmpty());
}

TEST(WholeScore, WhatSuchModelsCannotDoIsRefused) {
  PairServer server;
  const auto fault = [&](const json& body) { return server.FaultOf(ScoreEndpoint(), body); };
  EXPECT_EQ(fault(Body("a", {"b"}, {{"item_first", true}})), "400 not_supported item_first");
  EXPECT_EQ(fault(Body("a", {"b"}, {{"score_extraction_token", 7}})),
            "400 not_supported score_extraction_token");
  EXPECT_EQ(fault(Body({300}, {{1}})), "400 token_out_of_vocabulary items[0]");
  EXPECT_EQ(fault(Body(json::array(), json::array({json::array()}))), "400 empty_prompt items[0]");
  EXPECT_EQ(fault(Body({1, 2}, {std::vector<int>(63, 1)})), "400 too_many_positions items[0]");
  EXPECT_EQ(fault(Body({1, 2}, {std::vector<int>(62, 1)})), "none");
  server.config_.read_head.reset();
  server.config_.num_labels = 0;
  const json labels = {{"labels", {" yes"}}};
  const auto with = [&](json more) {
    more.update(labels);
    return Body("a", {"b"}, more);
  };
  EXPECT_EQ(fault(with({{"truncation_strategy", "only_first"}})),
            "400 not_supported truncation_strategy");
  EXPECT_EQ(fault(with({{"truncate_prompt_tokens", 5}})),
            "400 not_supported truncate_prompt_tokens");
  EXPECT_EQ(fault(with(json::object())), "none");
}

}  // namespace whole_preparation_test
}  // namespace scorecast::coordinator
