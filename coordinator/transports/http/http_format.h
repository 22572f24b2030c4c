#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/transports/connection/reply_format.h"
#include "coordinator/transports/http/reply_writer.h"

namespace scorecast::coordinator {

/// Replies as JSON. If the request streams, as server-sent events: one for each delta, then one for
/// the response or the error, and then "[DONE]". An error before the first delta is an ordinary
/// reply.
class HttpFormat : public ReplyFormat {
 public:
  /// `endpoint` outlives the format.
  HttpFormat(const Endpoint& endpoint, ReplyWriter writer, bool streams)
      : endpoint_(endpoint), writer_(std::move(writer)), streams_(streams) {}

  std::string Delta(std::size_t output, const CompletionDelta& delta) override;
  std::string Response(const EndpointResponse& response) override;
  std::string Error(const proto::Error& error) override;

  bool ends_connection() const override { return writer_.ends_connection(); }
  std::int64_t bytes_per_message_byte() const override { return kBytesPerMessageByte; }

 private:
  /// A number takes 8 bytes in a message, and up to 24 in JSON with a comma. Names of fields,
  /// brackets and the reply's header are covered by what a message has besides its lists.
  static constexpr std::int64_t kBytesPerMessageByte = 4;

  /// The bytes of an event, after those of the header if it is the first.
  std::string Event(const std::string& json);
  std::string LastEvent(const std::string& json);

  const Endpoint& endpoint_;
  ReplyWriter writer_;
  const bool streams_;
  bool has_begun_ = false;  ///< An event was formed.
};

}  // namespace scorecast::coordinator
