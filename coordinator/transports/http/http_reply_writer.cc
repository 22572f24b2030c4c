#include "coordinator/transports/http/http_reply_writer.h"

#include <cstdio>
#include <ctime>

#include <boost/beast/http/status.hpp>

#include "coordinator/transports/http/load_report.h"

namespace scorecast::coordinator {
namespace {

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

void Append(const ReplyFields& fields, std::string& header) {
  for (const auto& [name, value] : fields) {
    header.append(name).append(": ").append(value).append("\r\n");
  }
}

}  // namespace

std::string HttpReplyWriter::Header(int status, const ReplyFields& fields, std::string_view framing,
                                    bool has_end) {
  ends_connection_ = !has_end || !keep_alive_ || handler_.is_draining();
  std::string header = "HTTP/1.1 " + std::to_string(status) + " ";
  header += Reason(status);
  header += "\r\n" + DateField() + "Server: scorecast\r\n";
  header += framing;
  Append(fields, header);
  header += "X-Request-Id: " + request_id() + "\r\n";
  Append(cors_, header);
  if (load_report_) {
    header.append(kLoadField).append(": ").append(load_report_()).append("\r\n");
  }
  if (ends_connection_) {
    header += "Connection: close\r\n";
  } else if (is_http_1_0_) {
    header += "Connection: keep-alive\r\n";
  }
  return header + "\r\n";
}

std::string HttpReplyWriter::WriteHeader(int status, const ReplyFields& fields,
                                         std::optional<std::size_t> bytes) {
  return Header(status, fields,
                bytes ? "Content-Length: " + std::to_string(*bytes) + "\r\n" : std::string());
}

std::string HttpReplyWriter::WriteHeaderOfParts(int status, const ReplyFields& fields) {
  return is_http_1_0_ ? Header(status, fields, "", /*has_end=*/false)
                      : Header(status, fields, "Transfer-Encoding: chunked\r\n");
}

std::string HttpReplyWriter::WritePart(std::string_view bytes, bool is_last,
                                       const PartNote& /*note*/) {
  if (is_http_1_0_) {
    return std::string(bytes);
  }
  std::string part;
  if (!bytes.empty()) {
    char size[32];
    std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
    part.append(size).append(bytes).append("\r\n");
  }
  return is_last ? part + "0\r\n\r\n" : part;
}

}  // namespace scorecast::coordinator
