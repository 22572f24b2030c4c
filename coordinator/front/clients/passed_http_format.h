#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "coordinator/front/clients/passed_format.h"
#include "coordinator/transports/web/web_call.h"

namespace scorecast::coordinator {

/// An HTTP request that is passed on as a v1::HttpRequest, and its reply, whose body is not parsed.
/// An error of the front itself is in the dialect of the URL. One that follows parts of a reply is
/// an event, if they are events. Otherwise the reply ends with the connection, so that the client
/// sees that it is not whole.
class PassedHttpFormat : public PassedFormat {
 public:
  explicit PassedHttpFormat(WebCall call);

  std::size_t request_bytes() const override { return request_bytes_; }
  void Skip() override { call_.body = {}; }
  std::string_view id() const override { return call_.writer->request_id(); }
  std::uint64_t number() const override { return call_.writer->number(); }
  std::string Error(const proto::Error& error) override { return call_.writer->Error(error); }
  bool ends_connection() const override { return is_cut_ || call_.writer->ends_connection(); }

  proto::Expected<PassedMessage> Take() override;
  std::string Part(const FrontReply& reply) override;

 private:
  std::string FirstPart(const v1::HttpReply& reply, bool is_last);
  /// The error that ends the reply.
  std::string EndWith(const proto::Error& error);
  NamedInRequest Named() const;

  WebCall call_;
  const std::size_t request_bytes_;
  bool has_begun_ = false;
  bool has_events_ = false;
  bool is_cut_ = false;
};

}  // namespace scorecast::coordinator
