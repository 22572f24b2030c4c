#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/json/response_writer.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/response_values.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace chunked_messages_test {

using google::protobuf::util::MessageDifferencer;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using IdList = std::vector<TokenId>;

ParsedRequest Parsed(const v1::ChunkedRequest& message) {
  v1::Request request;
  *request.mutable_chunked() = message;
  return ChunkedEndpoint().FromMessage(std::move(request));
}

ChunkedRequest Read(const v1::ChunkedRequest& message) {
  return ReadFrom<v1::ChunkedRequest>(Parsed(message));
}

TEST(ChunkedRequestFromMessage, AbsentFieldsHaveTheEndpointsDefaults) {
  const ChunkedRequest request = Read({});
  const v1::ChunkedRequest& message = request.message;
  EXPECT_FALSE(message.has_system_prompt());
  EXPECT_FALSE(HasList(request, v1::ChunkedRequest::kChunksFieldNumber));
  EXPECT_FALSE(HasList(request, v1::ChunkedRequest::kChunkGroupsFieldNumber));
  EXPECT_FALSE(message.has_question());
  EXPECT_FALSE(HasList(request, v1::ChunkedRequest::kQuestionsFieldNumber));
  EXPECT_FALSE(message.has_prompt());
  EXPECT_FALSE(message.has_chunk_position_strategy());
  EXPECT_EQ(message.chunk_temperature(), 1.0);
  EXPECT_EQ(message.chunk_scale(), 1.0);
  EXPECT_FALSE(message.has_label_token_ids());
  EXPECT_FALSE(HasList(request, v1::ChunkedRequest::kLabelsFieldNumber));
  EXPECT_FALSE(message.apply_softmax());
  EXPECT_FALSE(message.has_activation());
  EXPECT_EQ(message.label_temperature(), 1.0);
  EXPECT_FALSE(message.return_token_logprobs());
  EXPECT_EQ(message.top_logprobs(), 0);
  EXPECT_EQ(message.max_new_tokens(), 0);
  EXPECT_EQ(message.temperature(), 0);
  EXPECT_EQ(message.top_p(), 1);
  EXPECT_EQ(message.top_k(), 0);
  EXPECT_EQ(message.min_p(), 0);
  EXPECT_EQ(message.repetition_penalty(), 1);
  EXPECT_FALSE(message.has_allowed_token_ids());
  EXPECT_FALSE(message.has_seed());
  EXPECT_THAT(message.stop(), IsEmpty());
  EXPECT_THAT(message.stop_token_ids(), IsEmpty());
  EXPECT_FALSE(message.ignore_eos());
  EXPECT_FALSE(request.streams());
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
  message.set_min_p(0.1);
  message.set_repetition_penalty(0);
  message.set_presence_penalty(0.5);
  message.set_frequency_penalty(-0.5);
  v1::TokenBias& bias = *message.add_logit_bias();
  bias.set_key("5");
  bias.set_value(-1);
  message.add_bad_words("w");
  message.set_min_tokens(2);
  message.mutable_allowed_token_ids()->add_ids(7);
  message.set_include_stop_str_in_output(true);
  message.set_seed(std::numeric_limits<std::uint64_t>::max());
  message.add_stop("\n");
  message.add_stop_token_ids(9);
  message.set_ignore_eos(true);
  message.set_stream(true);
  message.set_timeout_ms(10);
  message.set_model("m");
  message.set_cache_salt("tenant");
  message.set_priority(3);
  const ChunkedRequest request = Read(message);
  message.set_model("");  // Moved, like the salt.
  message.set_cache_salt("");
  EXPECT_TRUE(MessageDifferencer::Equals(request.message, message));
  EXPECT_EQ(Text(ViewOf(request.message.system_prompt())), "s");
  EXPECT_THAT(Ids(ViewOf(request.message.question())), IsEmpty());
  EXPECT_TRUE(request.streams());
  EXPECT_EQ(request.timeout_ms, 10);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.cache_salt, "tenant");
  EXPECT_EQ(request.priority, 3);
}

TEST(ChunkedRequestFromMessage, NamesTheFieldThatHasNoValue) {
  const auto param = [](const v1::ChunkedRequest& message) {
    const ParsedRequest request = Parsed(message);
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

TEST(ChunkedRequestFromJson, KnowsEmptyListsFromAbsentOnes) {
  const ChunkedRequest request = ReadFrom<v1::ChunkedRequest>(
      ChunkedEndpoint().FromJson({{"chunks", json::array()}, {"labels", {"a"}}}));
  EXPECT_TRUE(HasList(request, v1::ChunkedRequest::kChunksFieldNumber));
  EXPECT_TRUE(HasList(request, v1::ChunkedRequest::kLabelsFieldNumber));
  EXPECT_FALSE(HasList(request, v1::ChunkedRequest::kQuestionsFieldNumber));
}

v1::ChunkedDelta Delta(std::size_t question, const CompletionDelta& delta) {
  const CheckingServer server;
  const PreparedRequest prepared = ValueOrFail(
      PrepareBody(ChunkedEndpoint(), R"({"prompt":"p","max_new_tokens":1})", server.context()));
  return static_cast<const v1::ChunkedDelta&>(prepared.form_delta(question, delta)->message());
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
  json request = {{"questions", {"a", "b", "c"}},
                  {"label_token_ids", IdList(200, 1)},
                  {"return_token_logprobs", true},
                  {"top_logprobs", kMaxTopLogprobs},
                  {"max_new_tokens", 300}};
  const auto bound = [&] {
    return ReadFrom<v1::ChunkedRequest>(ChunkedEndpoint().FromJson(request)).ResponseBytesBound({});
  };
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
  EXPECT_LE(bytes, bound());
  EXPECT_GT(2 * bytes, bound()) << "the bound is not too loose";
  const std::int64_t whole = bound();
  request["stream"] = true;
  EXPECT_GT(bound(), whole + 3 * static_cast<std::int64_t>(text.size()));
  request["max_new_tokens"] = std::numeric_limits<std::int64_t>::max();
  EXPECT_GT(bound(), whole) << "without an overflow";
}

}  // namespace chunked_messages_test
}  // namespace scorecast::coordinator
