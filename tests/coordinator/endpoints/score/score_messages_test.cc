#include "coordinator/endpoints/score/score_messages.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace score_messages_test {

using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

v1::ScoreRequest Smallest() {
  v1::ScoreRequest message;
  message.mutable_query()->set_text("q");
  return message;
}

TEST(ScoreRequestFromMessage, AbsentFieldsHaveTheEndpointsDefaults) {
  const ScoreRequest request = ValueOrFail(ScoreRequestFromMessage(Smallest()));
  const ScoreRequest defaults;
  EXPECT_EQ(std::get<std::string>(request.query), "q");
  EXPECT_TRUE(request.items.empty());
  EXPECT_FALSE(request.label_token_ids);
  EXPECT_FALSE(request.labels);
  EXPECT_EQ(request.apply_softmax, defaults.apply_softmax);
  EXPECT_FALSE(request.activation);
  EXPECT_EQ(request.item_first, defaults.item_first);
  EXPECT_EQ(request.temperature, defaults.temperature);
  EXPECT_EQ(request.return_token_logprobs, defaults.return_token_logprobs);
  EXPECT_EQ(request.top_logprobs, defaults.top_logprobs);
  EXPECT_EQ(request.max_new_tokens, defaults.max_new_tokens);
  EXPECT_FALSE(request.timeout_ms);
  EXPECT_FALSE(request.model);
  EXPECT_FALSE(request.cache_salt);
  EXPECT_FALSE(request.score_extraction_token);
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
  const ScoreRequest request = ValueOrFail(ScoreRequestFromMessage(message));
  EXPECT_THAT(std::get<Ids>(request.query), ElementsAre(1, 2));
  ASSERT_EQ(request.items.size(), 2U);
  EXPECT_EQ(std::get<std::string>(request.items[0]), "a");
  EXPECT_TRUE(std::get<Ids>(request.items[1]).empty());
  EXPECT_THAT(*request.labels, ElementsAre("x", "y"));
  EXPECT_TRUE(request.apply_softmax);
  EXPECT_EQ(request.activation, "");
  EXPECT_TRUE(request.item_first);
  EXPECT_EQ(request.temperature, 0.0);
  EXPECT_TRUE(request.return_token_logprobs);
  EXPECT_EQ(request.top_logprobs, 4);
  EXPECT_EQ(request.max_new_tokens, 5);
  EXPECT_EQ(request.timeout_ms, 6);
  EXPECT_EQ(request.model, "");
  EXPECT_EQ(request.cache_salt, "tenant");
  EXPECT_EQ(request.priority, -7);
  EXPECT_EQ(request.score_extraction_token, TextOrId(TokenId{0}));
  message.mutable_score_extraction_token()->set_text("<e>");
  EXPECT_EQ(ValueOrFail(ScoreRequestFromMessage(message)).score_extraction_token, TextOrId("<e>"));
}

TEST(ScoreRequestFromMessage, LabelsForAllOrPerItem) {
  v1::ScoreRequest message = Smallest();
  message.mutable_label_token_ids()->mutable_for_all()->add_ids(3);
  EXPECT_THAT(std::get<Ids>(*ValueOrFail(ScoreRequestFromMessage(message)).label_token_ids),
              ElementsAre(3));
  auto& lists = *message.mutable_label_token_ids()->mutable_per_item();
  lists.add_lists()->add_ids(4);
  lists.add_lists();
  EXPECT_THAT(
      std::get<std::vector<Ids>>(*ValueOrFail(ScoreRequestFromMessage(message)).label_token_ids),
      ElementsAre(ElementsAre(4), ElementsAre()));
}

TEST(ScoreRequestFromMessage, NamesTheFieldThatHasNoValue) {
  v1::ScoreRequest message = Smallest();
  message.add_items()->set_text("a");
  message.add_items();
  const auto request = ScoreRequestFromMessage(message);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, 400);
  EXPECT_EQ(request.error().param, "items[1]");
  message.clear_query();
  EXPECT_EQ(ScoreRequestFromMessage(message).error().param, "query");
  message = Smallest();
  message.mutable_score_extraction_token();
  EXPECT_EQ(ScoreRequestFromMessage(message).error().param, "score_extraction_token");
}

/// Bytes of the longest response to a request.
std::int64_t LongestResponse(const ScoreRequest& request) {
  v1::ScoreResponse response;
  const auto labels_of = [&](std::size_t item) {
    const auto* lists =
        request.label_token_ids
            ? std::get_if<std::vector<std::vector<TokenId>>>(&*request.label_token_ids)
            : nullptr;
    if (lists != nullptr) {
      return (*lists)[item].size();
    }
    return request.label_token_ids ? std::get<std::vector<TokenId>>(*request.label_token_ids).size()
                                   : request.labels->size();
  };
  for (std::size_t item = 0; item < request.items.size(); ++item) {
    AddRows({std::vector<double>(labels_of(item), 0.1)}, *response.mutable_scores());
  }
  if (request.return_token_logprobs) {
    *response.mutable_token_logprobs() = response.scores();
    response.mutable_query_token_logprobs()->mutable_values()->Resize(
        static_cast<int>(labels_of(0)), -0.1);
  }
  if (request.top_logprobs > 0) {
    for (std::size_t row = 0; row < request.items.size() + 1; ++row) {
      AddTop(std::vector<std::pair<int, double>>(static_cast<std::size_t>(request.top_logprobs),
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
          ScoreRequest request;
          request.items.resize(items);
          request.labels.emplace(labels);
          request.return_token_logprobs = logprobs;
          request.top_logprobs = top;
          std::vector<ScoreRequest> forms = {request};
          request.label_token_ids = Ids(labels);
          forms.push_back(request);
          request.label_token_ids = std::vector<Ids>(items, Ids(labels));
          forms.push_back(request);
          for (const ScoreRequest& form : forms) {
            EXPECT_LE(LongestResponse(form), form.ResponseBytesBound({}));
            EXPECT_LT(form.ResponseBytesBound({}),
                      4 * LongestResponse(form) + static_cast<std::int64_t>(items) * 30 + 300);
          }
        }
      }
    }
  }
}

TEST(ResponseBytesBound, CountsTheOccurrencesOfASetwiseRequest) {
  ScoreRequest request;
  request.items = {std::string(100, 'a'), std::string(50, 'b')};
  request.labels.emplace(3);
  request.score_extraction_token = "a";
  request.return_token_logprobs = true;
  request.top_logprobs = 2;
  v1::ScoreResponse response;
  for (int row = 0; row < 150; ++row) {
    AddRows({{0.1, 0.1, 0.1}}, *response.mutable_scores());
    AddTop({{1'000'000, -0.1}, {1'000'000, -0.1}}, *response.mutable_top_logprobs());
  }
  *response.mutable_token_logprobs() = response.scores();
  response.add_occurrences(100);
  response.add_occurrences(50);
  const auto bytes = static_cast<std::int64_t>(response.ByteSizeLong());
  const std::int64_t bound = request.ResponseBytesBound({.max_position_embeddings = 512});
  EXPECT_LE(bytes, bound);
  EXPECT_GT(2 * bytes, bound);
  EXPECT_LT(request.ResponseBytesBound({.max_position_embeddings = 10}), bound / 4);
}

TEST(ResponseBytesBound, CountsTheClassesOfAClassifier) {
  ScoreRequest request;
  request.items.resize(100);
  v1::ScoreResponse response;
  AddRows(std::vector(100, std::vector<double>(500, -0.1)), *response.mutable_scores());
  const auto bytes = static_cast<std::int64_t>(response.ByteSizeLong());
  EXPECT_LE(bytes, request.ResponseBytesBound({.num_labels = 500}));
  EXPECT_GT(2 * bytes, request.ResponseBytesBound({.num_labels = 500}));
}

}  // namespace score_messages_test
}  // namespace scorecast::coordinator
