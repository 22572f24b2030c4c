#include "coordinator/transports/socket/frame_format.h"

#include <memory>

#include <gtest/gtest.h>

#include "coordinator/endpoints/endpoint_response.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {
namespace frame_format_test {

// A frame is written without a whole message. It has the bytes of the whole one.

TEST(FrameFormat, AResponseIsAFrameOfTheWholeMessage) {
  v1::ScoreResponse score;
  score.add_scores()->add_values(0.5);
  score.set_model("m");
  for (const std::uint64_t request_id : {0, 7, 1'000'000}) {
    v1::Response whole;
    whole.set_request_id(request_id);
    *whole.mutable_score() = score;
    EXPECT_EQ(FrameFormat(request_id)
                  .Response(EndpointResponse(std::make_unique<v1::ScoreResponse>(score))),
              proto::ToFrame(whole));
  }
  v1::Response empty;
  empty.mutable_rerank();
  EXPECT_EQ(FrameFormat(0).Response(EndpointResponse(std::make_unique<v1::RerankResponse>())),
            proto::ToFrame(empty));
}

TEST(FrameFormat, ADeltaAndAnErrorToo) {
  v1::Response delta;
  delta.set_request_id(7);
  delta.mutable_chunked_delta()->set_question(2);
  delta.mutable_chunked_delta()->set_text("a");
  delta.mutable_chunked_delta()->add_token_ids(5);
  delta.mutable_chunked_delta()->set_finish_reason("stop");
  FrameFormat format(7);
  EXPECT_EQ(
      format.Delta(EndpointResponse(std::make_unique<v1::ChunkedDelta>(delta.chunked_delta()))),
      proto::ToFrame(delta));
  v1::Response error;
  error.set_request_id(7);
  error.mutable_error()->set_code(429);
  error.mutable_error()->set_reason("queue_full");
  error.mutable_error()->set_message("Wait.");
  error.mutable_error()->set_retry_after_seconds(3);
  EXPECT_EQ(format.Error({429, "queue_full", "Wait.", "", 3}), proto::ToFrame(error));
}

}  // namespace frame_format_test
}  // namespace scorecast::coordinator
