#include "coordinator/transports/http/http_format.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/request/request_error.h"
#include "coordinator/service/request_service.h"

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
                       std::shared_ptr<AddressBytes> address, ReplyWriter writer)
    : endpoint_(endpoint),
      body_(std::move(body)),
      address_(std::move(address)),
      // How long it takes to decompress a body is not known before.
      request_bytes_(body_.is_compressed ? static_cast<std::size_t>(kLongBytes) + 1
                                         : body_.bytes.text.size()),
      writer_(std::move(writer)) {}

ParsedRequest HttpFormat::Parse(const RequestService& service, Call& call) {
  try {
    ParsedRequest parsed = ParseBody(service, call, std::exchange(body_, {}));
    streams_ = parsed && (*parsed)->streams();
    return parsed;
  } catch (const std::exception& exception) {
    return proto::Unexpected(FaultOf(exception));
  }
}

ParsedRequest HttpFormat::ParseBody(const RequestService& service, Call& call, HttpBody body) {
  if (body.is_compressed) {
    auto inflated = Inflate(body.bytes.text, body.max_bytes, address_->requests);
    if (!inflated) {
      return proto::Unexpected(std::move(inflated).error());
    }
    body.bytes = *std::move(inflated);
    request_bytes_ = std::max(request_bytes_, body.bytes.text.size());
  }
  call.HoldBytes(std::make_shared<std::vector<Held>>(std::move(body.bytes.held)));
  proto::Expected<BodyJson> json = ParseJson(body.bytes.text, service.max_values());
  if (!json) {
    return proto::Unexpected(json.error());
  }
  return endpoint_.FromJson(*std::move(json));
}

std::string HttpFormat::Event(const std::string& json) {
  std::string bytes;
  if (!has_begun_) {
    has_begun_ = true;
    bytes = writer_.Begin("text/event-stream; charset=utf-8");
  }
  return bytes + writer_.Part("data: " + json + "\n\n");
}

std::string HttpFormat::LastEvent(const std::string& json) {
  return Event(json) + Event("[DONE]") + writer_.End();
}

std::string HttpFormat::Delta(std::size_t output, const CompletionDelta& delta) {
  return Event(JsonOf(*endpoint_.Delta(output, delta)));
}

std::string HttpFormat::Response(const EndpointResponse& response) {
  if (streams_) {
    return LastEvent(JsonOf(response));
  }
  return writer_.Whole(200, "application/json", [&](std::string& body) {
    JsonWriter writer(body);
    response.WriteJson(writer);
  });
}

std::string HttpFormat::Error(const proto::Error& error) {
  return has_begun_ ? LastEvent(writer_.ErrorText(error)) : writer_.Error(error);
}

}  // namespace scorecast::coordinator
