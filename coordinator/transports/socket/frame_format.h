#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/endpoint_format.h"
#include "coordinator/transports/socket/request_envelope.h"
#include "coordinator/transports/socket/server_state.h"

namespace google::protobuf {
class Message;
}

namespace scorecast::coordinator {

/// The 400 for a frame whose content is no v1::Request.
proto::Error NotAMessage();

/// Requests and replies as protobuf messages: the content of a frame is a v1::Request, and a reply
/// is a frame of a v1::Response.
class FrameFormat : public EndpointFormat {
 public:
  /// `message` is the content of the request's frame, `envelope` is its own, and `held` are its
  /// bytes. The last reply has the server's `state`, if that is not null.
  FrameFormat(std::string message, const RequestEnvelope& envelope, std::vector<Held> held,
              std::shared_ptr<RecentState> state);
  /// Only for replies.
  explicit FrameFormat(std::uint64_t request_id) : request_id_(request_id) {}

  std::size_t request_bytes() const override { return request_bytes_; }
  ParsedRequest Parse(const RequestService& service, Call& call) override;
  void Skip() override;
  std::uint64_t number() const override { return number_; }

  std::string Delta(const EndpointResponse& delta) override;
  std::string Response(const EndpointResponse& response) override;
  std::string Error(const proto::Error& error) override;

 private:
  /// The frame of the last reply.
  std::string LastFrame(const google::protobuf::Message& result) const;
  ParsedRequest ParseMessage(const RequestService& service, Call& call, const std::string& message);

  std::string message_;  ///< Until it is parsed.
  std::vector<Held> held_;
  std::size_t request_bytes_ = 0;
  std::uint64_t number_ =
      0;  ///< The request_id, which only fronts get with the reply to a message with a fault.
  bool has_forwarded_ = false;
  const std::shared_ptr<RecentState> state_;
  std::uint64_t request_id_ = 0;
};

}  // namespace scorecast::coordinator
