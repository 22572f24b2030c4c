#include "coordinator/transports/web/reply_writer.h"

#include <algorithm>
#include <iterator>

#include "coordinator/json/response_writer.h"
#include "coordinator/transports/web/request_id.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kContentType = "Content-Type";

ReplyField VaryField() { return {"Vary", "Accept-Encoding"}; }

std::string EventOf(std::string_view data) {
  return std::string("data: ").append(data).append("\n\n");
}

}  // namespace

ReplyFields ReplyWriter::WithId(ReplyFields fields) const {
  if (terms_.endpoint != nullptr && !terms_.endpoint->id_field().empty()) {
    fields.push_back({terms_.endpoint->id_field(), "req_" + RequestId({}) + RequestId({})});
  }
  return fields;
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
                               ReplyFields fields) {
  const std::optional<std::string> compressed = CompressedBody(body);
  const std::string_view sent = compressed ? std::string_view(*compressed) : body;
  const std::optional<ContentCoding> coding = compressed ? terms_.coding.coding : std::nullopt;
  std::string reply =
      WriteHeader(status, WithId(BodyFields(content_type, body.size(), coding, std::move(fields))),
                  sent.size());
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
  reply.replace(0, kHeaderRoom, BeforeBody(status, content_type, bytes, bytes, std::nullopt));
  return reply;
}

std::string ReplyWriter::BeforeBody(int status, std::string_view content_type, std::size_t whole,
                                    std::size_t sent, std::optional<ContentCoding> coding,
                                    ReplyFields fields) {
  return WriteHeader(status, WithId(BodyFields(content_type, whole, coding, std::move(fields))),
                     sent);
}

ReplyFields ReplyWriter::BodyFields(std::string_view content_type, std::size_t whole,
                                    std::optional<ContentCoding> coding, ReplyFields fields) const {
  ReplyFields all = {{kContentType, std::string(content_type)}};
  if (coding) {
    all.push_back({"Content-Encoding", std::string(NameOf(*coding))});
  }
  if (IsVariable(whole)) {
    all.push_back(VaryField());
  }
  std::ranges::move(fields, std::back_inserter(all));
  return all;
}

std::string ReplyWriter::WithoutBody(int status, ReplyFields fields) {
  return WriteHeader(status, WithId(std::move(fields)), std::nullopt);
}

std::string ReplyWriter::NotModified(std::size_t bytes, ReplyFields fields) {
  if (IsVariable(bytes)) {
    fields.push_back(VaryField());
  }
  return WithoutBody(304, std::move(fields));
}

std::string ReplyWriter::ErrorText(const proto::Error& error) const {
  return terms_.endpoint == nullptr ? ErrorJson(error) : terms_.endpoint->ErrorToJson(error);
}

std::string ReplyWriter::Event(std::string_view json,
                               const std::optional<StreamPosition>& position) {
  return WritePart(EventOf(json), /*is_last=*/false, {.position = position});
}

std::string ReplyWriter::EndWith(std::string_view json, int error_code) {
  return WritePart((json.empty() ? std::string() : EventOf(json)) + EventOf("[DONE]"),
                   /*is_last=*/true, {.error_code = error_code});
}

std::string ReplyWriter::Error(const proto::Error& error, ReplyFields fields) {
  if (continues()) {
    return ErrorEvent(error);
  }
  constexpr int kUnauthorized = 401;
  if (error.code == kUnauthorized) {
    fields.push_back({"WWW-Authenticate", "Bearer realm=\"scorecast\""});
  }
  if (error.retry_after_seconds) {
    fields.push_back({"Retry-After", std::to_string(*error.retry_after_seconds)});
  }
  return Whole(error.code, kJson, ErrorText(error), std::move(fields));
}

std::string ReplyWriter::Passed(int status, const ReplyFields& fields,
                                std::optional<std::string_view> body) {
  std::string reply =
      WriteHeader(status, fields, body ? std::optional(body->size()) : std::nullopt);
  return body && !terms_.is_head ? reply.append(*body) : reply;
}

std::string ReplyWriter::Begin(std::string_view content_type) {
  return WriteHeaderOfParts(
      200, WithId({{kContentType, std::string(content_type)}, {"Cache-Control", "no-cache"}}));
}

}  // namespace scorecast::coordinator
