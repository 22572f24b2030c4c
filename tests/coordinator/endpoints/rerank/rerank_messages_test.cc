#include "coordinator/endpoints/rerank/rerank_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace rerank_messages_test {

using ::testing::ElementsAre;

TEST(RerankRequestFromMessage, AbsentFieldsHaveTheEndpointsDefaults) {
  const RerankRequest request = RerankRequestFromMessage({});
  EXPECT_TRUE(request.documents.empty());
  EXPECT_EQ(request.top_n, 0);
  EXPECT_EQ(request.return_documents, false);
  EXPECT_EQ(request.form, RerankForm::kResults);
  EXPECT_FALSE(request.relevance.instruction);
  EXPECT_FALSE(request.relevance.truncate_prompt_tokens);
  EXPECT_TRUE(request.relevance.truncate);
  EXPECT_EQ(request.relevance.truncation_direction, "right");
  EXPECT_FALSE(request.relevance.raw_scores);
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
  message.set_max_tokens_per_doc(4);
  message.set_truncate_prompt_tokens(0);  // Set, although it is protobuf's own default.
  message.set_truncate(false);
  message.set_truncation_direction("left");
  message.set_timeout_ms(6);
  message.set_model("m");
  message.set_cache_salt("s");
  message.set_priority(11);
  const RerankRequest request = RerankRequestFromMessage(message);
  EXPECT_EQ(request.query, "q");
  EXPECT_THAT(request.documents, ElementsAre("a", ""));
  EXPECT_EQ(request.relevance.instruction, "i");
  EXPECT_EQ(request.top_n, 3);
  EXPECT_EQ(request.return_documents, true);
  EXPECT_TRUE(request.relevance.raw_scores);
  EXPECT_EQ(request.relevance.max_tokens_per_doc, 4);
  EXPECT_EQ(request.relevance.truncate_prompt_tokens, 0);
  EXPECT_FALSE(request.relevance.truncate);
  EXPECT_EQ(request.relevance.truncation_direction, "left");
  EXPECT_EQ(request.timeout_ms, 6);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_EQ(request.priority, 11) << "out of range: messages are not Cohere's";
}

}  // namespace rerank_messages_test
}  // namespace scorecast::coordinator
