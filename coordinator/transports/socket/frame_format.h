#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/transports/connection/reply_format.h"

namespace scorecast::coordinator {

/// Replies as frames of a v1::Response each.
class FrameFormat : public ReplyFormat {
 public:
  /// `endpoint` may be null if the only reply is an error.
  FrameFormat(std::uint64_t request_id, const Endpoint* endpoint)
      : request_id_(request_id), endpoint_(endpoint) {}

  std::string Delta(std::size_t output, const CompletionDelta& delta) override;
  std::string Response(const EndpointResponse& response) override;
  std::string Error(const proto::Error& error) override;

 private:
  const std::uint64_t request_id_;
  const Endpoint* const endpoint_;
};

}  // namespace scorecast::coordinator
