#include "coordinator/transports/http/reply_writer.h"

#include <cstdio>
#include <ctime>

#include <boost/beast/http/status.hpp>

#include "coordinator/json/response_writer.h"
#include "coordinator/transports/http/request_id.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kJson = "application/json";

std::string_view Reason(int status) {
  if (status == 499) {
    return "Client Closed Request";
  }
  const auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  const auto reason = boost::beast::http::obsolete_reason(known);
  return {reason.data(), reason.size()};
}

/// "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
std::string DateField() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char field[64];
  // The C locale, in which the program runs, has the names that HTTP wants.
  std::strftime(field, sizeof(field), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
  return field;
}

std::string LengthField(std::size_t bytes) {
  return "Content-Length: " + std::to_string(bytes) + "\r\n";
}

std::string TypeField(std::string_view content_type) {
  return "Content-Type: " + std::string(content_type) + "\r\n";
}

}  // namespace

std::string ReplyWriter::Header(int status, std::string_view fields, bool has_end) {
  ends_connection_ = !has_end || !terms_.keep_alive || service_.is_draining();
  std::string header = "HTTP/1.1 " + std::to_string(status) + " ";
  header += Reason(status);
  header += "\r\n" + DateField() + "Server: scorecast\r\n";
  header += fields;
  header += "X-Request-Id: " + terms_.request_id + "\r\n" + terms_.cors;
  if (terms_.endpoint != nullptr && !terms_.endpoint->id_field().empty()) {
    header += terms_.endpoint->id_field();
    header += ": req_" + RequestId({}) + RequestId({}) + "\r\n";
  }
  if (ends_connection_) {
    header += "Connection: close\r\n";
  } else if (terms_.is_http_1_0) {
    header += "Connection: keep-alive\r\n";
  }
  return header + "\r\n";
}

std::optional<ContentCoding> ReplyWriter::CodingOfBody(std::size_t bytes) const {
  return IsVariable(bytes) ? terms_.coding.coding : std::nullopt;
}

bool ReplyWriter::IsVariable(std::size_t bytes) const {
  return terms_.compress_from > 0 && (bytes >= terms_.compress_from || terms_.coding.is_needed);
}

std::optional<std::string> ReplyWriter::CompressedBody(std::string_view body) const {
  const std::optional<ContentCoding> coding = CodingOfBody(body.size());
  if (!coding) {
    return std::nullopt;
  }
  std::string compressed = Compressed(body, *coding);
  const bool is_used = compressed.size() < body.size() || terms_.coding.is_needed;
  return is_used ? std::optional(std::move(compressed)) : std::nullopt;
}

std::string ReplyWriter::Whole(int status, std::string_view content_type, std::string_view body,
                               std::string_view fields) {
  const std::optional<std::string> compressed = CompressedBody(body);
  const std::string_view sent = compressed ? std::string_view(*compressed) : body;
  std::string reply = Header(status, BodyFields(content_type, body.size(), sent.size(),
                                                compressed ? terms_.coding.coding : std::nullopt) +
                                         std::string(fields));
  if (!terms_.is_head) {
    reply += sent;
  }
  return reply;
}

std::string ReplyWriter::Whole(int status, std::string_view content_type,
                               const std::function<void(std::string& reply)>& write_body) {
  // Longer than most headers, so that the body only moves to the front.
  constexpr std::size_t kHeaderRoom = 1024;
  std::string reply(kHeaderRoom, ' ');
  write_body(reply);
  const std::size_t bytes = reply.size() - kHeaderRoom;
  if (CodingOfBody(bytes)) {
    return Whole(status, content_type, std::string_view(reply).substr(kHeaderRoom));
  }
  if (terms_.is_head) {
    reply.resize(kHeaderRoom);
  }
  reply.replace(0, kHeaderRoom,
                Header(status, BodyFields(content_type, bytes, bytes, std::nullopt)));
  return reply;
}

std::string ReplyWriter::BeforeBody(int status, std::string_view content_type, std::size_t whole,
                                    std::size_t sent, std::optional<ContentCoding> coding) {
  return Header(status, BodyFields(content_type, whole, sent, coding));
}

std::string ReplyWriter::BodyFields(std::string_view content_type, std::size_t whole,
                                    std::size_t sent, std::optional<ContentCoding> coding) const {
  std::string fields = TypeField(content_type) + LengthField(sent);
  if (coding) {
    fields += "Content-Encoding: " + std::string(NameOf(*coding)) + "\r\n";
  }
  return IsVariable(whole) ? fields + "Vary: Accept-Encoding\r\n" : fields;
}

std::string ReplyWriter::WithoutBody(int status, std::string_view fields) {
  return Header(status, fields);
}

std::string ReplyWriter::ErrorText(const proto::Error& error) const {
  return terms_.endpoint == nullptr ? ErrorJson(error) : terms_.endpoint->ErrorToJson(error);
}

std::string ReplyWriter::Error(const proto::Error& error, std::string_view fields) {
  std::string all(fields);
  constexpr int kUnauthorized = 401;
  if (error.code == kUnauthorized) {
    all += "WWW-Authenticate: Bearer realm=\"scorecast\"\r\n";
  }
  if (error.retry_after_seconds) {
    all += "Retry-After: " + std::to_string(*error.retry_after_seconds) + "\r\n";
  }
  return Whole(error.code, kJson, ErrorText(error), all);
}

std::string ReplyWriter::Begin(std::string_view content_type) {
  const std::string fields = TypeField(content_type) + "Cache-Control: no-cache\r\n";
  return terms_.is_http_1_0 ? Header(200, fields, /*has_end=*/false)
                            : Header(200, fields + "Transfer-Encoding: chunked\r\n");
}

std::string ReplyWriter::Part(std::string_view bytes) const {
  if (terms_.is_http_1_0 || bytes.empty()) {
    return std::string(bytes);
  }
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  std::string part = size;
  part += bytes;
  return part + "\r\n";
}

std::string ReplyWriter::End() const { return terms_.is_http_1_0 ? "" : "0\r\n\r\n"; }

}  // namespace scorecast::coordinator
