#include "coordinator/front/batch/replica_lines.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/batch/line_call.h"
#include "coordinator/transports/batch/line_request.h"
#include "coordinator/transports/batch/record.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/error_message.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kEvents = "text/event-stream";

Record WithoutRecord(const std::string& /*custom_id*/) {
  return {Record::Kind::kNone, {}, std::nullopt};
}

std::string_view ContentTypeOf(const v1::HttpReply& reply) {
  const auto field = std::ranges::find_if(
      reply.fields(), [](const v1::HttpField& one) { return one.name() == "Content-Type"; });
  return field == reply.fields().end() ? std::string_view() : std::string_view(field->value());
}

/// The record of a line whose response is an error of a replica or of the front.
FormRecord RecordOf(const Endpoint& endpoint, proto::Error error) {
  return [&endpoint, error = std::move(error)](const std::string& custom_id) {
    return ResponseRecord(custom_id, endpoint, proto::Unexpected(error));
  };
}

/// The run ends early at a line with a reply that none should have.
FormRecord NoRecordOf(const v1::Response& response) {
  const int status = response.has_http() ? static_cast<int>(response.http().status()) : 0;
  return [status](const std::string& /*custom_id*/) {
    return Record{Record::Kind::kNone,
                  {},
                  proto::Error{502, "bad_reply",
                               "The replica's reply, with status " + std::to_string(status) +
                                   ", has no JSON on one line.",
                               ""}};
  };
}

/// `reply` is the first part of the reply, and the last one unless the request streams.
FormRecord RecordOf(const Endpoint& endpoint, FrontReply reply) {
  v1::Response& response = reply.response;
  if (response.has_error()) {
    return RecordOf(endpoint, proto::ErrorOf(response.error()));
  }
  const std::string_view type = ContentTypeOf(response.http());
  if (!reply.is_last || type.starts_with(kEvents)) {
    return RecordOf(endpoint, NoStreamOfLine());
  }
  std::string& body = *response.mutable_http()->mutable_body();
  if (!type.starts_with(kJson) || body.empty() || body.find('\n') != std::string::npos) {
    return NoRecordOf(response);
  }
  return [status = static_cast<int>(response.http().status()),
          body = std::move(body)](const std::string& custom_id) mutable {
    return FormedRecord(custom_id, status, std::move(body));
  };
}

FrontRequest RequestOf(LineRequest request, const ClientId& client) {
  v1::Request message;
  v1::HttpRequest& http = *message.mutable_http();
  http.set_method("POST");
  http.set_path(std::move(request.url));
  http.set_content_type(std::string(kJson));
  http.set_body(CompactJson(request.body));
  FrontRequest passed;
  passed.bytes = message.SerializeAsString();
  // The body is the last field.
  passed.body_begin = passed.bytes.size() - http.body().size();
  passed.client = client;
  // The request's own time does not count while it waits here.
  passed.arrived = std::nullopt;
  passed.defaults = ResponseDefaults{.seed = request.default_seed,
                                     .response_id = request.identity.id_seed,
                                     .created = request.identity.created};
  return passed;
}

}  // namespace

ForwarderOptions ForwarderOptionsOfLines() {
  ForwarderOptions options;
  options.queue.patience = std::nullopt;
  options.refusal_pause = std::chrono::seconds(1);
  return options;
}

ReplicaLines::ReplicaLines(ReplicaPool& pool, RunReplicas replicas, const std::string& client)
    : pool_(pool), replicas_(std::move(replicas)), client_{.address = client, .network = client} {
  pool_.Run([this] { pool_.replicas().Pin(replicas_.facts); });
}

ReplicaLines::~ReplicaLines() {
  // What was posted before has then been done.
  pool_.Run([] {});
}

void ReplicaLines::Begin(const std::shared_ptr<OpenLine>& line, LineRequest request) {
  const Endpoint& endpoint = *request.endpoint;
  FrontRequest passed;
  try {
    passed = RequestOf(std::move(request), client_);
  } catch (const std::exception& exception) {  // There is no memory for it.
    line->Ready(RecordOf(endpoint, FaultOf(exception)));
    return;
  }
  std::int64_t expected = 0;
  {
    const std::lock_guard lock(mutex_);
    expected = sizes_.Expect(line->bytes());
  }
  line->AwaitResponseRoom(expected);
  boost::asio::post(pool_.executor(),
                    [this, line, &endpoint, passed = std::move(passed)]() mutable {
                      Send(line, endpoint, std::move(passed));
                    });
}

void ReplicaLines::Send(const std::shared_ptr<OpenLine>& line, const Endpoint& endpoint,
                        FrontRequest request) {
  if (is_stopping_) {
    line->Ready(WithoutRecord);
    return;
  }
  const std::uint64_t number = ++last_number_;
  Sent& sent = sent_[number];
  sent = {line, &endpoint};
  // The handler is not called from inside Forward.
  sent.id = pool_.forwarder()->Forward(
      std::move(request), [this, number](FrontReply reply) { OnReply(number, std::move(reply)); });
}

void ReplicaLines::OnReply(std::uint64_t number, FrontReply reply) {
  const auto found = sent_.find(number);
  if (found == sent_.end()) {
    return;
  }
  const Sent sent = std::move(found->second);
  sent_.erase(found);
  if (!reply.is_last) {
    pool_.forwarder()->Cancel(sent.id);
  }
  const auto bytes = static_cast<std::int64_t>(reply.response.ByteSizeLong());
  {
    const std::lock_guard lock(mutex_);
    sizes_.Learn(sent.line->bytes(), bytes);
  }
  sent.line->Ready(RecordOf(*sent.endpoint, std::move(reply)), bytes);
}

void ReplicaLines::StopSoon() {
  is_stopping_ = true;
  boost::asio::post(pool_.executor(), [this] {
    for (const auto& [number, sent] : std::exchange(sent_, {})) {
      pool_.forwarder()->Cancel(sent.id);
      sent.line->Ready(WithoutRecord);
    }
  });
}

}  // namespace scorecast::coordinator
