#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/resources/reply_field.h"
#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/web/reply_writer.h"

namespace scorecast::coordinator {

/// What the replies to one request have in common over HTTP/1.1.
struct HttpReplyTerms {
  ReplyTerms reply;
  bool is_http_1_0 = false;
  bool keep_alive = false;  ///< The client wants to send further requests on its connection.
  ReplyFields cors;         ///< See CorsFields.
  std::function<std::string()> load_report;  ///< See LoadReport. May be empty.
};

/// Writes the bytes of a reply as HTTP/1.1. A drain ends the connection, so that its client turns
/// to another server.
class HttpReplyWriter : public ReplyWriter {
 public:
  HttpReplyWriter(HttpReplyTerms terms, const CallHandler& handler)
      : ReplyWriter(std::move(terms.reply)),
        is_http_1_0_(terms.is_http_1_0),
        keep_alive_(terms.keep_alive),
        cors_(std::move(terms.cors)),
        load_report_(std::move(terms.load_report)),
        handler_(handler) {}

  bool ends_connection() const override { return ends_connection_; }

 protected:
  std::string WriteHeader(int status, const ReplyFields& fields,
                          std::optional<std::size_t> bytes) override;
  std::string WriteHeaderOfParts(int status, const ReplyFields& fields) override;
  std::string WritePart(std::string_view bytes, bool is_last, const PartNote& note) override;

 private:
  /// `framing` is the line that says where the body ends; may be empty. `has_end`: the client sees
  /// where the body ends. Otherwise the connection ends with it.
  std::string Header(int status, const ReplyFields& fields, std::string_view framing,
                     bool has_end = true);

  const bool is_http_1_0_;
  const bool keep_alive_;
  const ReplyFields cors_;
  const std::function<std::string()> load_report_;
  const CallHandler& handler_;
  bool ends_connection_ = false;
};

}  // namespace scorecast::coordinator
