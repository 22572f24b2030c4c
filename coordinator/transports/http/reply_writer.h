#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/http/reply_coding.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What the replies to one request have in common.
struct ReplyTerms {
  bool is_http_1_0 = false;
  bool keep_alive = false;  ///< The client wants to send further requests on its connection.
  bool is_head = false;     ///< The reply has no body.
  std::string request_id;
  std::string cors;                    ///< See CorsFields.
  ReplyCoding coding;                  ///< Of bodies that are long.
  std::size_t compress_from = 0;       ///< See HttpOptions.
  const Endpoint* endpoint = nullptr;  ///< Whose dialect errors have; may be null.
};

/// Writes the bytes of a reply. A drain ends the connection, so that its client turns to another
/// server. A long body is compressed at once, by the thread that forms it: see HttpOptions.
class ReplyWriter {
 public:
  ReplyWriter(ReplyTerms terms, const RequestService& service)
      : terms_(std::move(terms)), service_(service) {}

  bool is_head() const { return terms_.is_head; }
  const std::string& request_id() const { return terms_.request_id; }

  /// A reply as a whole. `fields` are further lines of its header, each with its end.
  std::string Whole(int status, std::string_view content_type, std::string_view body,
                    std::string_view fields = {});
  /// The same with a body that is written to the end of the reply.
  std::string Whole(int status, std::string_view content_type,
                    const std::function<void(std::string& reply)>& write_body);
  /// The header of a reply whose body is sent behind it, unless the request is a HEAD: `sent`
  /// bytes, which are `whole` bytes compressed by `coding`, if there is one.
  std::string BeforeBody(int status, std::string_view content_type, std::size_t whole,
                         std::size_t sent, std::optional<ContentCoding> coding);
  /// How a body of `bytes` is to be compressed; nullopt: not at all.
  std::optional<ContentCoding> CodingOfBody(std::size_t bytes) const;
  std::string WithoutBody(int status, std::string_view fields);
  /// A reply with the body that the endpoint has for an error. `fields` as in Whole.
  std::string Error(const proto::Error& error, std::string_view fields = {});
  /// The body of an error alone.
  std::string ErrorText(const proto::Error& error) const;

  /// The header of a reply whose body consists of any number of parts.
  std::string Begin(std::string_view content_type);
  std::string Part(std::string_view bytes) const;
  std::string End() const;

  /// Whether the connection must be closed after the reply whose header was written.
  bool ends_connection() const { return ends_connection_; }

 private:
  /// `has_end`: the client sees where the body ends. Otherwise the connection ends with it.
  std::string Header(int status, std::string_view fields, bool has_end = true);
  /// The fields of a body, as in BeforeBody.
  std::string BodyFields(std::string_view content_type, std::size_t whole, std::size_t sent,
                         std::optional<ContentCoding> coding) const;
  /// Whether a body of `bytes` depends on Accept-Encoding.
  bool IsVariable(std::size_t bytes) const;
  /// The body as it is sent; nullopt if it is sent as it is.
  std::optional<std::string> CompressedBody(std::string_view body) const;

  ReplyTerms terms_;
  const RequestService& service_;
  bool ends_connection_ = false;
};

}  // namespace scorecast::coordinator
