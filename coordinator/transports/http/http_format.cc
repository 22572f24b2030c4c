#include "coordinator/transports/http/http_format.h"

#include "coordinator/json/json_writer.h"

namespace scorecast::coordinator {
namespace {

std::string JsonOf(const EndpointResponse& response) {
  std::string json;
  JsonWriter writer(json);
  response.WriteJson(writer);
  return json;
}

}  // namespace

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
