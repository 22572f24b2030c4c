#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/endpoint_response.h"
#include "coordinator/resources/reply_field.h"
#include "coordinator/transports/web/reply_coding.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// What the replies to one request have in common.
struct ReplyTerms {
  bool is_head = false;  ///< The reply has no body.
  std::string request_id;
  ReplyCoding coding;                  ///< Of bodies that are long.
  std::size_t compress_from = 0;       ///< See WebOptions.
  const Endpoint* endpoint = nullptr;  ///< Whose dialect errors have; may be null.
  /// The client has the beginning of the reply, which is a stream, from another server.
  bool continues = false;
};

/// What a front is told of a part of a stream.
struct PartNote {
  std::optional<StreamPosition> position{};  ///< See EndpointResponse::position.
  int error_code = 0;                        ///< That of the error that the part is, or 0.
};

/// Forms the reply to an HTTP request: status, fields and body. Each transport derives its own,
/// which writes them as bytes. A long body is compressed at once, by the thread that forms it: see
/// WebOptions.
class ReplyWriter {
 public:
  explicit ReplyWriter(ReplyTerms terms) : terms_(std::move(terms)) {}
  virtual ~ReplyWriter() = default;

  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  bool is_head() const { return terms_.is_head; }
  const std::string& request_id() const { return terms_.request_id; }
  bool continues() const { return terms_.continues; }

  /// A reply as a whole. `fields` are further fields of its header.
  std::string Whole(int status, std::string_view content_type, std::string_view body,
                    ReplyFields fields = {});
  /// The same with a body that is written to the end of the reply.
  std::string Whole(int status, std::string_view content_type,
                    const std::function<void(std::string& reply)>& write_body);
  /// The header of a reply whose body is sent behind it, unless the request is a HEAD: `sent`
  /// bytes, which are `whole` bytes compressed by `coding`, if there is one. `fields` as in Whole.
  std::string BeforeBody(int status, std::string_view content_type, std::size_t whole,
                         std::size_t sent, std::optional<ContentCoding> coding,
                         ReplyFields fields = {});
  /// How a body of `bytes` is to be compressed; nullopt: not at all.
  std::optional<ContentCoding> CodingOfBody(std::size_t bytes) const;
  std::string WithoutBody(int status, ReplyFields fields);
  /// The 304 in the place of a body of `bytes`, which the client has already. `fields` as in Whole.
  std::string NotModified(std::size_t bytes, ReplyFields fields);
  /// A reply with the body that the endpoint has for an error. `fields` as in Whole. If the reply
  /// continues a stream, the error is an event.
  std::string Error(const proto::Error& error, ReplyFields fields = {});
  /// The body of an error alone.
  std::string ErrorText(const proto::Error& error) const;

  // Replies of another server, with the status and all fields that it has given them.

  /// A reply as a whole, to a HEAD as well. nullopt: it has no body to any method.
  std::string Passed(int status, const ReplyFields& fields, std::optional<std::string_view> body);
  /// What stands before a body of parts: see Begin.
  std::string BeginPassed(int status, const ReplyFields& fields) {
    return WriteHeaderOfParts(status, fields);
  }

  /// The header of a reply whose body consists of any number of parts, or nothing if the first part
  /// has it.
  std::string Begin(std::string_view content_type);
  /// The next part of the body. The reply ends with the last one.
  std::string Part(std::string_view bytes, bool is_last) { return WritePart(bytes, is_last, {}); }

  // Parts that are server-sent events.

  std::string Event(std::string_view json, const std::optional<StreamPosition>& position);
  /// The end of the stream, behind an event unless `json` is empty. All of it is one part, so that
  /// a front has either both or none.
  std::string LastEvent(std::string_view json) { return EndWith(json, /*error_code=*/0); }
  /// The same if an error ends the stream.
  std::string ErrorEvent(const proto::Error& error) {
    return EndWith(ErrorText(error), error.code);
  }

  /// Whether the connection must be closed after the reply whose header was written.
  virtual bool ends_connection() const { return false; }
  /// See CallFormat::number.
  virtual std::uint64_t number() const { return 0; }

 protected:
  /// What stands before a body of `bytes`, which a reply to a HEAD does not have. nullopt: the
  /// reply has no body to any method.
  virtual std::string WriteHeader(int status, const ReplyFields& fields,
                                  std::optional<std::size_t> bytes) = 0;
  /// The same before the parts of a body: see Begin.
  virtual std::string WriteHeaderOfParts(int status, const ReplyFields& fields) = 0;
  /// See Part.
  virtual std::string WritePart(std::string_view bytes, bool is_last, const PartNote& note) = 0;

 private:
  std::string EndWith(std::string_view json, int error_code);
  /// Adds the field with the endpoint's id of the request, if its dialect has one.
  ReplyFields WithId(ReplyFields fields) const;
  /// `fields` behind those of a body, as in BeforeBody.
  ReplyFields BodyFields(std::string_view content_type, std::size_t whole,
                         std::optional<ContentCoding> coding, ReplyFields fields = {}) const;
  /// Whether a body of `bytes` depends on Accept-Encoding.
  bool IsVariable(std::size_t bytes) const;
  /// The body as it is sent; nullopt if it is sent as it is.
  std::optional<std::string> CompressedBody(std::string_view body) const;

  const ReplyTerms terms_;
};

}  // namespace scorecast::coordinator
