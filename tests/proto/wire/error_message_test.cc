#include "proto/wire/error_message.h"

#include <gtest/gtest.h>

#include "proto/scorecast.pb.h"

namespace scorecast::proto {
namespace error_message_test {

TEST(ErrorMessage, HasEveryField) {
  v1::Error message;
  ToMessage(Error{429, "queue_full", "Wait.", "field", 9}, message);
  EXPECT_EQ(message.code(), 429);
  EXPECT_EQ(message.reason(), "queue_full");
  EXPECT_EQ(message.message(), "Wait.");
  EXPECT_EQ(message.param(), "field");
  EXPECT_EQ(message.retry_after_seconds(), 9);
}

TEST(ErrorMessage, BecomesTheSameError) {
  v1::Error message;
  ToMessage(Error{429, "queue_full", "Wait.", "field", 9}, message);
  const Error error = ErrorOf(message);
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.reason, "queue_full");
  EXPECT_EQ(error.message, "Wait.");
  EXPECT_EQ(error.param, "field");
  EXPECT_EQ(error.retry_after_seconds, 9);
  message.clear_retry_after_seconds();
  EXPECT_FALSE(ErrorOf(message).retry_after_seconds);
}

}  // namespace error_message_test
}  // namespace scorecast::proto
