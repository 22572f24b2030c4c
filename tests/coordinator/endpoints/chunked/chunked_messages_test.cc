#include "coordinator/endpoints/chunked/chunked_messages.h"

#include <limits>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/chunked/chunked_response.h"
#include "coordinator/endpoints/response_bytes.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/chunked/chunked_response_from_message.h"

namespace scorecast::coordinator {
namespace chunked_messages_test {

using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

TEST(ChunkedRequestFromMessage, AbsentFieldsHaveTheEndpointsDefaults) {
  const ChunkedRequest request = ValueOrFail(ChunkedRequestFromMessage({}));
  const ChunkedRequest defaults;
  EXPECT_FALSE(request.system_prompt);
  EXPECT_FALSE(request.chunks);
  EXPECT_FALSE(request.chunk_groups);
  EXPECT_FALSE(request.question);
  EXPECT_FALSE(request.questions);
  EXPECT_FALSE(request.prompt);
  EXPECT_FALSE(request.chunk_position_strategy);
  EXPECT_EQ(request.chunk_temperature, defaults.chunk_temperature);
  EXPECT_EQ(request.chunk_scale, defaults.chunk_scale);
  EXPECT_FALSE(request.label_token_ids);
  EXPECT_FALSE(request.labels);
  EXPECT_FALSE(request.apply_softmax);
  EXPECT_FALSE(request.activation);
  EXPECT_EQ(request.label_temperature, defaults.label_temperature);
  EXPECT_FALSE(request.return_token_logprobs);
  EXPECT_EQ(request.top_logprobs, 0);
  EXPECT_EQ(request.max_new_tokens, 0);
  EXPECT_EQ(request.sampling.temperature, defaults.sampling.temperature);
  EXPECT_EQ(request.sampling.top_p, defaults.sampling.top_p);
  EXPECT_EQ(request.sampling.top_k, defaults.sampling.top_k);
  EXPECT_EQ(request.sampling.seed, defaults.sampling.seed);
  EXPECT_THAT(request.stop, IsEmpty());
  EXPECT_THAT(request.stop_token_ids, IsEmpty());
  EXPECT_FALSE(request.ignore_eos);
  EXPECT_FALSE(request.stream);
  EXPECT_FALSE(request.timeout_ms);
  EXPECT_FALSE(request.model);
  EXPECT_FALSE(request.cache_salt);
}

TEST(ChunkedRequestFromMessage, TakesEveryField) {
  v1::ChunkedRequest message;
  message.mutable_system_prompt()->set_text("s");
  message.add_chunks()->set_text("a");
  message.add_chunks()->mutable_ids()->add_ids(3);
  message.add_chunk_groups(2);
  message.mutable_question()->mutable_ids();  // An empty list of ids.
  message.add_questions()->set_text("q");
  message.set_prompt("");
  message.set_chunk_position_strategy("offset");
  message.set_chunk_temperature(0);  // Set, although it is protobuf's own default.
  message.set_chunk_scale(0.5);
  message.mutable_label_token_ids()->add_ids(4);
  message.add_labels("x");
  message.set_apply_softmax(true);
  message.set_activation("none");
  message.set_label_temperature(0);
  message.set_return_token_logprobs(true);
  message.set_top_logprobs(5);
  message.set_max_new_tokens(6);
  message.set_temperature(0.7);
  message.set_top_p(0);
  message.set_top_k(8);
  message.set_seed(std::numeric_limits<std::uint64_t>::max());
  message.add_stop("\n");
  message.add_stop_token_ids(9);
  message.set_ignore_eos(true);
  message.set_stream(true);
  message.set_timeout_ms(10);
  message.set_model("m");
  message.set_cache_salt("tenant");
  message.set_priority(3);
  const ChunkedRequest request = ValueOrFail(ChunkedRequestFromMessage(message));
  EXPECT_EQ(Text(*request.system_prompt), "s");
  ASSERT_THAT(*request.chunks, SizeIs(2));
  EXPECT_EQ(Text(request.chunks->at(0)), "a");
  EXPECT_THAT(coordinator::Ids(request.chunks->at(1)), ElementsAre(3));
  EXPECT_THAT(*request.chunk_groups, ElementsAre(2));
  EXPECT_THAT(coordinator::Ids(*request.question), IsEmpty());
  EXPECT_EQ(Text(request.questions->at(0)), "q");
  EXPECT_EQ(request.prompt, "");
  EXPECT_EQ(request.chunk_position_strategy, "offset");
  EXPECT_EQ(request.chunk_temperature, 0);
  EXPECT_EQ(request.chunk_scale, 0.5);
  EXPECT_THAT(*request.label_token_ids, ElementsAre(4));
  EXPECT_THAT(*request.labels, ElementsAre("x"));
  EXPECT_TRUE(request.apply_softmax);
  EXPECT_EQ(request.activation, "none");
  EXPECT_EQ(request.label_temperature, 0);
  EXPECT_TRUE(request.return_token_logprobs);
  EXPECT_EQ(request.top_logprobs, 5);
  EXPECT_EQ(request.max_new_tokens, 6);
  EXPECT_EQ(request.sampling.temperature, 0.7);
  EXPECT_EQ(request.sampling.top_p, 0);
  EXPECT_EQ(request.sampling.top_k, 8);
  EXPECT_EQ(request.sampling.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_THAT(request.stop, ElementsAre("\n"));
  EXPECT_THAT(request.stop_token_ids, ElementsAre(9));
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_TRUE(request.stream);
  EXPECT_EQ(request.timeout_ms, 10);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.cache_salt, "tenant");
  EXPECT_EQ(request.priority, 3);
}

TEST(ChunkedRequestFromMessage, NamesTheFieldThatHasNoValue) {
  const auto param = [](const v1::ChunkedRequest& message) {
    const auto request = ChunkedRequestFromMessage(message);
    return request ? "" : request.error().param;
  };
  v1::ChunkedRequest message;
  message.add_questions();
  EXPECT_EQ(param(message), "questions[0]");
  message.mutable_question();
  EXPECT_EQ(param(message), "question");
  message.add_chunks()->set_text("a");
  message.add_chunks();
  EXPECT_EQ(param(message), "chunks[1]");
  message.mutable_system_prompt();
  EXPECT_EQ(param(message), "system_prompt");
}

ChunkedResponse Example() {
  ChunkedResponse response;
  response.model = "m";
  response.scores = {{0.25, 0.5}, {0.75, 1}};
  response.outputs = {{"text", {1, 2}, FinishReason::kStop}, {"", {3}, FinishReason::kLength}};
  response.token_logprobs = {{-1.0, -2.0}, {-3, -4}};
  response.top_logprobs = {{{7, -0.5}, {8, -0.75}}, {{9, -1}, {10, -2}}};
  response.usage = {.prompt_tokens = 11, .completion_tokens = 3, .cached_tokens = 5};
  response.timings = {.queue_ms = 1, .tokenize_ms = 2, .forward_ms = 3, .total_ms = 4};
  return response;
}

TEST(ChunkedResponse, KeepsEveryFieldAsAMessage) {
  const ChunkedResponse response = Example();
  v1::Response whole;
  response.ToMessage(whole);
  const v1::ChunkedResponse& message = whole.chunked();
  EXPECT_EQ(message.usage().total_tokens(), 14);
  EXPECT_EQ(message.outputs(0).finish_reason(), "stop");
  EXPECT_EQ(message.outputs(1).finish_reason(), "length");
  const ChunkedResponse back = ChunkedResponseFromMessage(message);
  EXPECT_EQ(back.model, response.model);
  EXPECT_EQ(back.scores, response.scores);
  EXPECT_EQ(back.token_logprobs, response.token_logprobs);
  EXPECT_EQ(back.top_logprobs, response.top_logprobs);
  EXPECT_EQ(back.usage.prompt_tokens, response.usage.prompt_tokens);
  EXPECT_EQ(back.usage.completion_tokens, response.usage.completion_tokens);
  EXPECT_EQ(back.usage.cached_tokens, response.usage.cached_tokens);
  v1::Response again;
  back.ToMessage(again);
  EXPECT_TRUE(MessageDifferencer::Equals(again, whole));
}

TEST(ChunkedResponse, AbsentFieldsStayAbsentAsAMessage) {
  v1::Response message;
  ChunkedResponse().ToMessage(message);
  const ChunkedResponse back = ChunkedResponseFromMessage(message.chunked());
  EXPECT_FALSE(back.scores);
  EXPECT_FALSE(back.outputs);
  EXPECT_FALSE(back.token_logprobs);
  EXPECT_FALSE(back.top_logprobs);
}

TEST(ChunkedDelta, NamesItsQuestionAndSaysWhetherItIsTheLast) {
  v1::ChunkedDelta message;
  ToMessage(3, {"ab", {1, 2}, std::nullopt}, message);
  EXPECT_EQ(message.question(), 3U);
  EXPECT_EQ(message.text(), "ab");
  EXPECT_THAT(message.token_ids(), ElementsAre(1, 2));
  EXPECT_EQ(message.finish_reason(), "");
  v1::ChunkedDelta last;
  ToMessage(0, {"", {}, FinishReason::kLength}, last);
  EXPECT_EQ(last.finish_reason(), "length");
}

TEST(ResponseBytesBound, NoResponseIsLonger) {
  ChunkedRequest request;
  request.questions = {"a", "b", "c"};
  request.label_token_ids = Ids(200, 1);
  request.return_token_logprobs = true;
  request.top_logprobs = kMaxTopLogprobs;
  request.max_new_tokens = 300;
  constexpr TokenId kLargest = std::numeric_limits<TokenId>::max();
  constexpr double kNumber = -1.0 / 3;
  ChunkedResponse response;
  response.scores.emplace(3, std::vector<double>(200, kNumber));
  response.token_logprobs = response.scores;
  response.top_logprobs.emplace(
      3, std::vector<TokenLogprob>(static_cast<std::size_t>(kMaxTopLogprobs), {kLargest, kNumber}));
  const std::string text(300 * static_cast<std::size_t>(kTextBytesPerToken), 'x');
  response.outputs.emplace(3, CompletionOutput{text, Ids(300, kLargest), FinishReason::kLength});
  response.usage = {.prompt_tokens = 1 << 30, .completion_tokens = 900, .cached_tokens = 1 << 30};
  response.timings = {.queue_ms = kNumber, .tokenize_ms = 1, .forward_ms = 1, .total_ms = 1};
  v1::Response message;
  message.set_request_id(std::numeric_limits<std::uint64_t>::max());
  response.ToMessage(message);
  const auto bytes = static_cast<std::int64_t>(message.ByteSizeLong());
  EXPECT_LE(bytes, request.ResponseBytesBound({}));
  EXPECT_GT(2 * bytes, request.ResponseBytesBound({})) << "the bound is not too loose";
  const std::int64_t whole = request.ResponseBytesBound({});
  request.stream = true;
  EXPECT_GT(request.ResponseBytesBound({}), whole + 3 * static_cast<std::int64_t>(text.size()));
  request.max_new_tokens = std::numeric_limits<std::int64_t>::max();
  EXPECT_GT(request.ResponseBytesBound({}), whole) << "without an overflow";
}

}  // namespace chunked_messages_test
}  // namespace scorecast::coordinator
