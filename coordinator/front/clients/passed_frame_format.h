#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/front/clients/passed_format.h"

namespace scorecast::coordinator {

/// A request of the request socket that is passed on with another id, and its replies, which get
/// the client's. Of a message only its outermost fields are read, and only requests to endpoints
/// are passed on.
class PassedFrameFormat : public PassedFormat {
 public:
  /// See MakePassedFrame.
  PassedFrameFormat(std::string message, std::uint64_t request_id, std::vector<Held> held);

  std::size_t request_bytes() const override { return request_bytes_; }
  void Skip() override;
  std::uint64_t number() const override { return number_; }
  std::string Error(const proto::Error& error) override;

  proto::Expected<PassedMessage> Take() override;
  std::string Part(const FrontReply& reply) override;

 private:
  std::string message_;  ///< Until it is taken.
  std::vector<Held> held_;
  const std::size_t request_bytes_;
  const std::uint64_t number_;
};

}  // namespace scorecast::coordinator
