#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/transports/connection/address_bytes.h"
#include "coordinator/transports/connection/endpoint_format.h"
#include "coordinator/transports/web/http_body.h"
#include "coordinator/transports/web/reply_writer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Requests and replies as JSON. If the request streams, replies are server-sent events: one for
/// each delta, then one for the response, unless it is none, or the error, and then "[DONE]". An
/// error before the first delta is an ordinary reply.
class HttpFormat : public EndpointFormat {
 public:
  /// `endpoint` outlives the format. The bytes of a body that is decompressed count for `address`.
  /// `url_model` is the model that the URL names, which counts if the body names none; may be
  /// empty.
  HttpFormat(const Endpoint& endpoint, HttpBody body, std::shared_ptr<AddressBytes> address,
             std::unique_ptr<ReplyWriter> writer, std::string url_model);

  std::size_t request_bytes() const override { return request_bytes_; }
  bool Unpack(std::size_t limit) override;
  ParsedRequest Parse(const RequestService& service, Call& call) override;
  void Skip() override { body_ = {}; }
  std::string_view id() const override { return writer_->request_id(); }
  std::uint64_t number() const override { return writer_->number(); }

  std::string Delta(const EndpointResponse& delta) override;
  std::string Response(const EndpointResponse& response) override;
  std::string Error(const proto::Error& error) override;

  bool ends_connection() const override { return writer_->ends_connection(); }
  std::int64_t bytes_per_message_byte() const override { return kBytesPerMessageByte; }

 private:
  /// A number takes 8 bytes in a message, and up to 24 in JSON with a comma. Names of fields,
  /// brackets and the reply's header are covered by what a message has besides its lists.
  static constexpr std::int64_t kBytesPerMessageByte = 4;

  /// The header of a stream, if no event was formed before.
  std::string BeginStream();

  ParsedRequest ParseBody(const RequestService& service, Call& call, HttpBody body);

  const Endpoint& endpoint_;
  HttpBody body_;                      ///< Until it is parsed.
  std::optional<proto::Error> fault_;  ///< The body cannot be decompressed.
  const std::shared_ptr<AddressBytes> address_;
  std::size_t request_bytes_;
  const std::unique_ptr<ReplyWriter> writer_;
  std::string url_model_;
  bool streams_ = false;
  bool has_begun_ = false;  ///< An event was formed, by this server or by one before it.
};

}  // namespace scorecast::coordinator
