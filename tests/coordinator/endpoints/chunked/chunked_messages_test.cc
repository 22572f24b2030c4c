#include "coordinator/endpoints/chunked/chunked_messages.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/json/response_writer.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace chunked_messages_test {

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

v1::ChunkedDelta Delta(std::size_t question, const CompletionDelta& delta) {
  return static_cast<const v1::ChunkedDelta&>(ChunkedEndpoint().Delta(question, delta)->message());
}

TEST(ChunkedDelta, NamesItsQuestionAndSaysWhetherItIsTheLast) {
  const v1::ChunkedDelta message = Delta(3, {"ab", {1, 2}, std::nullopt});
  EXPECT_EQ(message.question(), 3U);
  EXPECT_EQ(message.text(), "ab");
  EXPECT_THAT(message.token_ids(), ElementsAre(1, 2));
  EXPECT_EQ(message.finish_reason(), "");
  EXPECT_EQ(Delta(0, {"", {}, FinishReason::kLength}).finish_reason(), "length");
}

TEST(ChunkedDelta, HasTheFinishReasonInJsonIfItIsTheLast) {
  EXPECT_EQ(ResponseJson(Delta(3, {"ab", {1, 2}, std::nullopt})),
            R"({"object":"chunked.delta","question":3,"text":"ab","token_ids":[1,2]})");
  EXPECT_EQ(ResponseJson(Delta(0, {"", {}, FinishReason::kStop})),
            R"({"object":"chunked.delta","question":0,"text":"","token_ids":[],)"
            R"("finish_reason":"stop"})");
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
  v1::ChunkedResponse response;
  AddRows(std::vector(3, std::vector<double>(200, kNumber)), *response.mutable_scores());
  *response.mutable_token_logprobs() = response.scores();
  const std::string text(300 * static_cast<std::size_t>(kTextBytesPerToken), 'x');
  for (int question = 0; question < 3; ++question) {
    AddTop(std::vector<std::pair<int, double>>(static_cast<std::size_t>(kMaxTopLogprobs),
                                               {kLargest, kNumber}),
           *response.mutable_top_logprobs());
    v1::ChunkedOutput& output = *response.add_outputs();
    output.set_text(text);
    output.mutable_token_ids()->Resize(300, kLargest);
    output.set_finish_reason("length");
  }
  response.mutable_usage()->set_prompt_tokens(1 << 30);
  response.mutable_usage()->set_total_tokens((1 << 30) + 900);
  response.mutable_usage()->set_completion_tokens(900);
  response.mutable_usage()->set_cached_tokens(1 << 30);
  response.mutable_timings()->set_queue_ms(kNumber);
  response.mutable_timings()->set_tokenize_ms(1);
  response.mutable_timings()->set_forward_ms(1);
  response.mutable_timings()->set_total_ms(1);
  v1::Response message;
  message.set_request_id(std::numeric_limits<std::uint64_t>::max());
  *message.mutable_chunked() = response;
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
