#include "coordinator/endpoints/chunked/chunked_endpoint.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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
  std::unique_ptr<EndpointResponse> Delta(std::size_t output,
                                          const CompletionDelta& delta) const override {
    auto message = std::make_unique<v1::ChunkedDelta>();
    message->set_question(static_cast<std::uint32_t>(output));
    message->set_text(delta.text);
    message->mutable_token_ids()->Assign(delta.token_ids.begin(), delta.token_ids.end());
    if (delta.finish_reason) {
      message->set_finish_reason(Name(*delta.finish_reason));
    }
    return std::make_unique<EndpointResponse>(std::move(message));
  }
  std::vector<const ResponseForm*> response_forms() const override {
    return {&FormOf(*v1::ChunkedResponse::descriptor())};
  }
};

}  // namespace

const Endpoint& ChunkedEndpoint() {
  static const Chunked endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
