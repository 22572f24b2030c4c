#include "coordinator/transports/http/http_format.h"

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "coordinator/json/json_writer.h"

namespace scorecast::coordinator {

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
  return Event(ToJsonText(endpoint_.DeltaToJson(output, delta)));
}

std::string HttpFormat::Response(const EndpointResponse& response) {
  std::string json;
  JsonWriter writer([&](std::string_view piece) { json += piece; });
  response.WriteJson(writer);
  writer.Finish();
  return streams_ ? LastEvent(json) : writer_.Whole(200, "application/json", json);
}

std::string HttpFormat::Error(const proto::Error& error) {
  return has_begun_ ? LastEvent(writer_.ErrorText(error)) : writer_.Error(error);
}

}  // namespace scorecast::coordinator
