#include "coordinator/endpoints/chunked/chunked_endpoint.h"

#include <array>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_fields.h"
#include "coordinator/endpoints/chunked/chunked_json.h"
#include "coordinator/endpoints/chunked/chunked_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class Chunked : public Endpoint {
 public:
  std::string_view name() const override { return "chunked"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/chunked"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kChunkedFieldNumber; }
  std::span<const FieldTable* const> forms() const override {
    static constexpr std::array kForms = {&kChunkedFields};
    return kForms;
  }

  ParsedRequest FromJson(const nlohmann::json& body) const override {
    return AsParsed(ChunkedRequestFromJson(body));
  }
  ParsedRequest FromMessage(const v1::Request& message) const override {
    return AsParsed(ChunkedRequestFromMessage(message.chunked()));
  }
  void ToMessage(std::size_t output, const CompletionDelta& delta,
                 v1::Response& message) const override {
    coordinator::ToMessage(output, delta, *message.mutable_chunked_delta());
  }
  OrderedJson DeltaToJson(std::size_t output, const CompletionDelta& delta) const override {
    return ChunkedDeltaToJson(output, delta);
  }
};

}  // namespace

const Endpoint& ChunkedEndpoint() {
  static const Chunked endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
