#include "coordinator/front/clients/passed_http_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "proto/base/letter_case.h"
#include "proto/wire/error_message.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kModels = "/v1/models/";
constexpr std::string_view kEvents = "text/event-stream";

proto::Error BadReply() {
  return {502, "bad_reply", "The replica's reply is none to an HTTP request.", ""};
}

bool HasBody(int status) {
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  return status != kNoContent && status != kNotModified;
}

}  // namespace

PassedHttpFormat::PassedHttpFormat(WebCall call)
    : call_(std::move(call)), request_bytes_(call_.body.text().size()) {}

NamedInRequest PassedHttpFormat::Named() const {
  NamedInRequest named;
  // What is in a compressed body is not known here.
  if (call_.request.content_encoding.empty()) {
    named = NamedInJson(call_.body.text());
  }
  if (named.model.empty()) {
    named.model = call_.url_model;
  }
  if (named.model.empty() && call_.request.path.starts_with(kModels)) {
    named.model = call_.request.path.substr(kModels.size());
  }
  return named;
}

proto::Expected<PassedMessage> PassedHttpFormat::Take() {
  PassedMessage passed;
  passed.named = Named();
  const HttpBody body = std::exchange(call_.body, {});
  v1::Request rest;
  v1::HttpRequest& http = *rest.mutable_http();
  // The reply to a HEAD says how long the body of a GET is.
  http.set_method(call_.writer->is_head() ? "GET" : call_.request.method);
  http.set_path(call_.request.path);
  http.set_path_prefix(call_.request.path_prefix);
  http.set_request_id(call_.writer->request_id());
  http.set_content_type(call_.request.content_type);
  http.set_content_encoding(call_.request.content_encoding);
  http.set_accept_encoding(call_.request.accept_encoding);
  http.set_body(body.text().data(), body.text().size());
  passed.bytes = rest.SerializeAsString();
  // The body is the last field.
  passed.body_begin = passed.bytes.size() - body.text().size();
  passed.held = body.bytes.held;
  return passed;
}

std::string PassedHttpFormat::Part(const FrontReply& reply) {
  if (reply.response.has_error()) {
    return EndWith(proto::ErrorOf(reply.response.error()));
  }
  if (!reply.response.has_http()) {
    return EndWith(BadReply());
  }
  const v1::HttpReply& http = reply.response.http();
  return has_begun_ ? call_.writer->Part(http.body(), reply.is_last)
                    : FirstPart(http, reply.is_last);
}

std::string PassedHttpFormat::FirstPart(const v1::HttpReply& reply, bool is_last) {
  const int status = static_cast<int>(reply.status());
  if (status < 200 || status > 599) {
    return EndWith(BadReply());
  }
  has_begun_ = true;
  ReplyFields fields;
  for (const v1::HttpField& field : reply.fields()) {
    fields.push_back({field.name(), field.value()});
    has_events_ = has_events_ || (proto::EqualsWithoutCase(field.name(), "content-type") &&
                                  field.value().starts_with(kEvents));
  }
  if (!is_last) {
    return call_.writer->BeginPassed(status, fields) + call_.writer->Part(reply.body(), false);
  }
  return call_.writer->Passed(
      status, fields,
      HasBody(status) ? std::optional<std::string_view>(reply.body()) : std::nullopt);
}

std::string PassedHttpFormat::EndWith(const proto::Error& error) {
  if (!has_begun_) {
    return call_.writer->Error(error);
  }
  if (!has_events_) {
    is_cut_ = true;
    return {};
  }
  return call_.writer->ErrorEvent(error);
}

}  // namespace scorecast::coordinator
