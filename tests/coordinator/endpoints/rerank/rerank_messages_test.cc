#include <utility>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"

namespace scorecast::coordinator {
namespace rerank_messages_test {

using Request = MessageRequest<v1::RerankRequest>;

Request Read(const v1::RerankRequest& message) {
  v1::Request request;
  *request.mutable_rerank() = message;
  return ReadFrom<v1::RerankRequest>(RerankEndpoint().FromMessage(std::move(request)));
}

TEST(RerankRequestFromMessage, AbsentFieldsHaveTheEndpointsDefaults) {
  const Request request = Read({});
  const v1::RerankRequest& message = request.message;
  EXPECT_TRUE(message.documents().empty());
  EXPECT_EQ(message.top_n(), 0);
  EXPECT_FALSE(message.return_documents());
  EXPECT_TRUE(request.is_message);
  EXPECT_FALSE(message.has_instruction());
  EXPECT_EQ(message.truncate_prompt_tokens(), -1);
  EXPECT_TRUE(message.truncate());
  EXPECT_FALSE(message.has_truncation_direction()) << "the model's directory says it";
  EXPECT_FALSE(message.raw_scores());
  EXPECT_FALSE(request.timeout_ms);
}

TEST(RerankRequestFromMessage, TakesEveryField) {
  v1::RerankRequest message;
  message.set_query("q");
  message.add_documents("a");
  message.add_documents("");
  message.set_instruction("i");
  message.set_top_n(3);
  message.set_return_documents(true);
  message.set_raw_scores(true);
  message.set_score_threshold(0.5);
  message.set_max_tokens_per_doc(4);
  message.set_truncate_prompt_tokens(0);  // Set, although it is protobuf's own default.
  message.set_truncate(false);
  message.set_truncation_direction("left");
  message.set_timeout_ms(6);
  message.set_model("m");
  message.set_cache_salt("s");
  message.set_priority(11);
  const Request request = Read(message);
  message.set_model("");  // Moved, like the salt.
  message.set_cache_salt("");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(request.message, message));
  EXPECT_EQ(request.timeout_ms, 6);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_EQ(request.priority, 11) << "out of range: messages are not Cohere's";
}

}  // namespace rerank_messages_test
}  // namespace scorecast::coordinator
