#include "coordinator/transports/web/http_format.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/url_pattern.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/request/request_error.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/web/body_faults.h"

namespace scorecast::coordinator {
namespace {

std::string JsonOf(const EndpointResponse& response) {
  std::string json;
  JsonWriter writer(json);
  response.WriteJson(writer);
  return json;
}

}  // namespace

HttpFormat::HttpFormat(const Endpoint& endpoint, HttpBody body,
                       std::shared_ptr<AddressBytes> address, std::unique_ptr<ReplyWriter> writer,
                       std::string url_model)
    : endpoint_(endpoint),
      body_(std::move(body)),
      address_(std::move(address)),
      // How long it takes to decompress a body is not known before, so it is always long.
      request_bytes_(
          static_cast<std::size_t>(body_.coding ? std::max(body_.claimed_bytes, kLongBytes + 1)
                                                : static_cast<std::int64_t>(body_.text().size()))),
      writer_(std::move(writer)),
      url_model_(std::move(url_model)),
      has_begun_(writer_->continues()) {}

bool HttpFormat::Unpack(std::size_t limit) {
  if (!body_.coding || fault_) {
    return true;
  }
  const std::int64_t most = std::min(body_.max_bytes, static_cast<std::int64_t>(limit));
  try {
    auto inflated =
        Inflate(body_.text(), *body_.coding, most, address_->requests, body_.claimed_bytes);
    if (inflated) {
      body_.bytes = *std::move(inflated);
      body_.begin = 0;
      body_.size = std::string::npos;
      body_.bytes.held.push_back(std::move(body_.room));
      body_.coding.reset();
      request_bytes_ = std::max(static_cast<std::size_t>(kLongBytes) + 1, body_.bytes.text.size());
    } else if (most < body_.max_bytes && inflated.error().code == BodyTooLarge(most).code) {
      return false;
    } else {
      fault_ = std::move(inflated).error();
    }
  } catch (const std::exception& exception) {
    fault_ = FaultOf(exception);
  }
  return true;
}

ParsedRequest HttpFormat::Parse(const RequestService& service, Call& call) {
  Unpack(static_cast<std::size_t>(body_.max_bytes));
  if (fault_) {
    body_ = {};
    return proto::Unexpected(*fault_);
  }
  try {
    ParsedRequest parsed = ParseBody(service, call, std::exchange(body_, {}));
    streams_ = parsed && (*parsed)->streams();
    if (parsed) {
      NameModel(url_model_, **parsed);
    }
    return parsed;
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

ParsedRequest HttpFormat::ParseBody(const RequestService& service, Call& call, HttpBody body) {
  call.HoldBytes(std::make_shared<std::vector<Held>>(std::move(body.bytes.held)));
  proto::Expected<BodyJson> json = ParseJson(body.text(), service.max_values());
  if (!json) {
    return proto::Unexpected(json.error());
  }
  return endpoint_.FromJson(*std::move(json));
}

std::string HttpFormat::BeginStream() {
  return std::exchange(has_begun_, true) ? std::string()
                                         : writer_->Begin("text/event-stream; charset=utf-8");
}

std::string HttpFormat::Delta(const EndpointResponse& delta) {
  std::string bytes = BeginStream();
  return bytes += writer_->Event(JsonOf(delta), delta.position());
}

std::string HttpFormat::Response(const EndpointResponse& response) {
  if (streams_) {
    std::string bytes = BeginStream();
    return bytes += writer_->LastEvent(response.is_event() ? JsonOf(response) : std::string());
  }
  return writer_->Whole(200, "application/json", [&](std::string& body) {
    JsonWriter writer(body);
    response.WriteJson(writer);
  });
}

std::string HttpFormat::Error(const proto::Error& error) {
  return has_begun_ ? writer_->ErrorEvent(error) : writer_->Error(error);
}

}  // namespace scorecast::coordinator
