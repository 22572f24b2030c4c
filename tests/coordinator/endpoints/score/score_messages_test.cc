#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace score_messages_test {

using nlohmann::json;
using ::testing::ElementsAre;
using IdList = std::vector<TokenId>;

v1::ScoreRequest Smallest() {
  v1::ScoreRequest message;
  message.mutable_query()->set_text("q");
  return message;
}

ParsedRequest Parsed(const v1::ScoreRequest& message) {
  v1::Request request;
  *request.mutable_score() = message;
  return ScoreEndpoint().FromMessage(std::move(request));
}

MessageRequest<v1::ScoreRequest> Read(const v1::ScoreRequest& message) {
  return ReadFrom<v1::ScoreRequest>(Parsed(message));
}

TEST(ScoreRequestFromMessage, AbsentFieldsHaveTheEndpointsDefaults) {
  const MessageRequest<v1::ScoreRequest> request = Read(Smallest());
  const v1::ScoreRequest& message = request.message;
  EXPECT_EQ(message.query().text(), "q");
  EXPECT_TRUE(message.items().empty());
  EXPECT_FALSE(message.has_label_token_ids());
  EXPECT_TRUE(message.labels().empty());
  EXPECT_FALSE(message.apply_softmax());
  EXPECT_FALSE(message.has_activation());
  EXPECT_FALSE(message.item_first());
  EXPECT_EQ(message.temperature(), 1.0);
  EXPECT_FALSE(message.return_token_logprobs());
  EXPECT_EQ(message.top_logprobs(), 0);
  EXPECT_EQ(message.max_new_tokens(), 0);
  EXPECT_FALSE(message.has_score_extraction_token());
  EXPECT_FALSE(request.timeout_ms);
  EXPECT_FALSE(request.model);
  EXPECT_FALSE(request.cache_salt);
  EXPECT_EQ(request.priority, 0);
}

TEST(ScoreRequestFromMessage, TakesEveryField) {
  v1::ScoreRequest message;
  for (const int id : {1, 2}) {
    message.mutable_query()->mutable_ids()->add_ids(id);
  }
  message.add_items()->set_text("a");
  message.add_items()->mutable_ids();  // An empty list of ids.
  message.add_labels("x");
  message.add_labels("y");
  message.set_apply_softmax(true);
  message.set_activation("");
  message.set_item_first(true);
  message.set_temperature(0);  // Set, although it is protobuf's own default.
  message.set_return_token_logprobs(true);
  message.set_top_logprobs(4);
  message.set_max_new_tokens(5);
  message.set_timeout_ms(6);
  message.set_model("");
  message.set_cache_salt("tenant");
  message.set_priority(-7);
  message.mutable_score_extraction_token()->set_id(0);
  message.set_truncate(false);
  message.set_truncate_prompt_tokens(8);
  message.set_truncation_direction("left");
  message.set_truncation_strategy("only_second");
  const MessageRequest<v1::ScoreRequest> request = Read(message);
  message.set_model("");  // Moved, like the salt.
  message.set_cache_salt("");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(request.message, message));
  EXPECT_THAT(Ids(ViewOf(request.message.query())), ElementsAre(1, 2));
  const std::vector<TextOrIds> items = ViewsOf(request.message.items());
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(Text(items[0]), "a");
  EXPECT_TRUE(Ids(items[1]).empty());
  EXPECT_EQ(request.timeout_ms, 6);
  EXPECT_EQ(request.model, "");
  EXPECT_EQ(request.cache_salt, "tenant");
  EXPECT_EQ(request.priority, -7);
  EXPECT_EQ(ViewOf(request.message.score_extraction_token()), TextOrId(TokenId{0}));
  message.mutable_score_extraction_token()->set_text("<e>");
  EXPECT_EQ(ViewOf(Read(message).message.score_extraction_token()), TextOrId("<e>"));
}

GivenLabels LabelsOf(const v1::ScoreRequest& message) {
  GivenLabels given;
  ViewIds(message.label_token_ids(), given);
  return given;
}

TEST(ScoreRequestFromMessage, LabelsForAllOrPerItem) {
  v1::ScoreRequest message = Smallest();
  message.mutable_label_token_ids()->mutable_for_all()->add_ids(3);
  const auto for_all = Read(message);
  EXPECT_THAT(*LabelsOf(for_all.message).ids, ElementsAre(ElementsAre(3)));
  EXPECT_FALSE(LabelsOf(for_all.message).ids_per_item);
  auto& lists = *message.mutable_label_token_ids()->mutable_per_item();
  lists.add_lists()->add_ids(4);
  lists.add_lists();
  const auto per_item = Read(message);
  EXPECT_THAT(*LabelsOf(per_item.message).ids, ElementsAre(ElementsAre(4), ElementsAre()));
  EXPECT_TRUE(LabelsOf(per_item.message).ids_per_item);
  message.mutable_label_token_ids()->clear_value();
  EXPECT_FALSE(Read(message).message.has_label_token_ids()) << "labels without a value";
}

TEST(ScoreRequestFromMessage, NamesTheFieldThatHasNoValue) {
  v1::ScoreRequest message = Smallest();
  message.add_items()->set_text("a");
  message.add_items();
  const ParsedRequest request = Parsed(message);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, 400);
  EXPECT_EQ(request.error().message, "items[1] must be text or token ids.");
  EXPECT_EQ(request.error().param, "items[1]");
  message.clear_query();
  EXPECT_EQ(Parsed(message).error().param, "query");
  message = Smallest();
  message.mutable_score_extraction_token();
  EXPECT_EQ(Parsed(message).error().param, "score_extraction_token");
}

std::int64_t BoundOf(const json& body, const proto::ModelConfig& config) {
  return ReadFrom<v1::ScoreRequest>(ScoreEndpoint().FromJson(body)).ResponseBytesBound(config);
}

/// Bytes of the longest response to a request.
std::int64_t LongestResponse(const json& request, std::size_t items, std::size_t labels) {
  v1::ScoreResponse response;
  AddRows(std::vector(items, std::vector<double>(labels, 0.1)), *response.mutable_scores());
  if (request["return_token_logprobs"] == true) {
    *response.mutable_token_logprobs() = response.scores();
    response.mutable_query_token_logprobs()->mutable_values()->Resize(static_cast<int>(labels),
                                                                      -0.1);
  }
  if (request["top_logprobs"] > 0) {
    for (std::size_t row = 0; row < items + 1; ++row) {
      AddTop(std::vector<std::pair<int, double>>(request["top_logprobs"].get<std::size_t>(),
                                                 {std::numeric_limits<TokenId>::max(), -0.1}),
             *response.mutable_top_logprobs());
    }
  }
  response.set_item_first_ignored(true);
  response.mutable_usage()->set_prompt_tokens(1'000'000);
  response.mutable_usage()->set_total_tokens(1'000'000);
  response.mutable_usage()->set_cached_tokens(1'000'000);
  response.mutable_timings()->set_queue_ms(1);
  response.mutable_timings()->set_tokenize_ms(1);
  response.mutable_timings()->set_forward_ms(1);
  response.mutable_timings()->set_total_ms(1);
  return static_cast<std::int64_t>(response.ByteSizeLong());
}

TEST(ResponseBytesBound, IsAnUpperBoundAndNotFarOff) {
  for (const std::size_t items : {1, 2, 100, 2000}) {
    for (const std::size_t labels : {1, 2, 300}) {
      for (const bool logprobs : {false, true}) {
        for (const std::int64_t top : {0, 50}) {
          json request = {{"query", ""},
                          {"items", std::vector<std::string>(items)},
                          {"labels", std::vector<std::string>(labels)},
                          {"return_token_logprobs", logprobs},
                          {"top_logprobs", top}};
          std::vector<json> forms = {request};
          request["label_token_ids"] = IdList(labels);
          forms.push_back(request);
          request["label_token_ids"] = std::vector<IdList>(items, IdList(labels));
          forms.push_back(request);
          for (const json& form : forms) {
            const std::int64_t longest = LongestResponse(form, items, labels);
            EXPECT_LE(longest, BoundOf(form, {}));
            EXPECT_LT(BoundOf(form, {}), 4 * longest + static_cast<std::int64_t>(items) * 30 + 300);
          }
        }
      }
    }
  }
}

TEST(ResponseBytesBound, CountsTheOccurrencesOfASetwiseRequest) {
  const json request = {{"query", ""},
                        {"items", {std::string(100, 'a'), std::string(50, 'b')}},
                        {"labels", std::vector<std::string>(3)},
                        {"score_extraction_token", "a"},
                        {"return_token_logprobs", true},
                        {"top_logprobs", 2}};
  v1::ScoreResponse response;
  for (int row = 0; row < 150; ++row) {
    AddRows({{0.1, 0.1, 0.1}}, *response.mutable_scores());
    AddTop({{1'000'000, -0.1}, {1'000'000, -0.1}}, *response.mutable_top_logprobs());
  }
  *response.mutable_token_logprobs() = response.scores();
  response.add_occurrences(100);
  response.add_occurrences(50);
  const auto bytes = static_cast<std::int64_t>(response.ByteSizeLong());
  const std::int64_t bound = BoundOf(request, {.max_position_embeddings = 512});
  EXPECT_LE(bytes, bound);
  EXPECT_GT(2 * bytes, bound);
  EXPECT_LT(BoundOf(request, {.max_position_embeddings = 10}), bound / 4);
}

TEST(ResponseBytesBound, CountsTheClassesOfAClassifier) {
  const json request = {{"query", ""}, {"items", std::vector<std::string>(100)}};
  v1::ScoreResponse response;
  AddRows(std::vector(100, std::vector<double>(500, -0.1)), *response.mutable_scores());
  const auto bytes = static_cast<std::int64_t>(response.ByteSizeLong());
  EXPECT_LE(bytes, BoundOf(request, {.num_labels = 500}));
  EXPECT_GT(2 * bytes, BoundOf(request, {.num_labels = 500}));
}

}  // namespace score_messages_test
}  // namespace scorecast::coordinator
