#include "coordinator/transports/socket/message_values.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace message_values_test {

/// The number of values that are counted in a message of requests.
std::int64_t Values(const std::string& bytes) {
  std::int64_t limit = 0;
  while (HasMoreValues(bytes, *v1::Request::descriptor(), limit)) {
    ++limit;
  }
  return limit;
}

std::string Repeated(const std::string& what, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) {
    text += what;
  }
  return text;
}

/// A field of fewer than 128 bytes with a length.
std::string Field(int number, const std::string& bytes) {
  return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(bytes.size())) +
         bytes;
}

TEST(MessageValues, CountsWhatTakesMoreMemoryThanItsBytes) {
  EXPECT_EQ(Values(""), 0);
  v1::Request request;
  request.set_request_id(7);
  v1::ScoreRequest& score = *request.mutable_score();
  EXPECT_EQ(Values(request.SerializeAsString()), 2) << "the id and the request";
  score.add_items();
  score.add_items()->set_text("text");
  EXPECT_EQ(Values(request.SerializeAsString()), 5) << "two items, one with a text";
  score.add_labels("a");
  EXPECT_EQ(Values(request.SerializeAsString()), 6);
  v1::TokenIds& ids = *score.mutable_label_token_ids()->mutable_for_all();
  const std::int64_t before = Values(request.SerializeAsString());
  EXPECT_EQ(before, 8);
  for (int id = 0; id < 1000; ++id) {
    ids.add_ids(id);
  }
  EXPECT_EQ(Values(request.SerializeAsString()), before) << "token ids do not count";
  request.mutable_chunked();  // Instead of the score request.
  const std::int64_t empty = Values(request.SerializeAsString());
  for (int group = 0; group < 100; ++group) {
    request.mutable_chunked()->add_chunk_groups(1);
  }
  EXPECT_EQ(Values(request.SerializeAsString()), empty + 101) << "numbers of 64 bits";
}

TEST(MessageValues, CountsUnknownFieldsAndGroups) {
  EXPECT_EQ(Values(Repeated(std::string("\x78\x01", 2), 50)), 50) << "field 15, a number";
  EXPECT_EQ(Values(Repeated(Field(15, "unknown"), 50)), 50);
  EXPECT_EQ(Values(Repeated("\x7b\x7c", 50)), 100) << "field 15, a group";
  // In a group, field 2 is not a request, so what would be a fault in one ends nothing.
  const std::string group = "\x7b" + Field(2, "\xff\xff\xff") + "\x7c";
  v1::Request request;
  ASSERT_TRUE(request.ParseFromString(group));
  EXPECT_EQ(Values(group + Field(2, Repeated(Field(2, ""), 50))), 54);
}

TEST(MessageValues, StopsAtAFault) {
  for (const std::string& fault : {Field(2, "\x12\x7f"), std::string("\x0c"), std::string("\x12"),
                                   std::string("\x0a\xff\xff\xff\xff\xff")}) {
    v1::Request request;
    EXPECT_FALSE(request.ParseFromString(fault));
    EXPECT_LT(Values(fault + Repeated(Field(15, ""), 50)), 50);
  }
}

TEST(MessageValues, AFrameWithTooManyIsRefusedBeforeItIsParsed) {
  FakeSocketServer server;
  const auto client = server.Connect();
  v1::Request request = NumberedRequest(3);
  for (int item = 0; item < 1'000'000; ++item) {
    request.mutable_score()->add_items();
  }
  const v1::Response refusal = client->Call(request);
  ExpectError(refusal, 0, 413, "too_many_values");
  EXPECT_EQ(refusal.error().message(),
            "The request has too many texts, lists and objects: more than 584860.");
  EXPECT_TRUE(client->Call(NumberedRequest(4)).has_score());

  request = NumberedRequest(5);
  request.mutable_score()->clear_labels();
  for (int item = 0; item < 100; ++item) {
    v1::TokenIds& ids =
        *request.mutable_score()->mutable_label_token_ids()->mutable_per_item()->add_lists();
    for (int id = 0; id < 20'000; ++id) {
      ids.add_ids(id);
    }
  }
  ExpectError(client->Call(request), 5, 400, "label_lists_mismatch");
}

}  // namespace message_values_test
}  // namespace scorecast::coordinator
