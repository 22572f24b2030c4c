#include "coordinator/endpoints/rerank/rerank_endpoint.h"

#include <array>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_json.h"
#include "coordinator/endpoints/rerank/rerank_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

/// text-embeddings-inference's name for the kind of an error.
const char* TeiErrorType(int code) {
  switch (code) {
    case 429:
    case 503:
      return "overloaded";
    default:
      return code < 500 ? "validation" : "backend";
  }
}

class Rerank : public Endpoint {
 public:
  std::string_view name() const override { return "rerank"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 3> kUrls = {"/v1/rerank", "/rerank",
                                                              "/v2/rerank"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kRerankFieldNumber; }
  std::span<const FieldTable* const> forms() const override { return RerankForms(); }

  ParsedRequest FromJson(const nlohmann::json& body) const override {
    return AsParsed(RerankRequestFromJson(body));
  }
  ParsedRequest FromMessage(const v1::Request& message) const override {
    return AsParsed(proto::Expected<RerankRequest>(RerankRequestFromMessage(message.rerank())));
  }

  /// Cohere's clients show `message`, TEI's show `error`, and Haystack's for Jina shows `detail`.
  OrderedJson ErrorToJson(const proto::Error& error) const override {
    OrderedJson body = ErrorBody(error);
    body["error"] = error.message;
    body["error_type"] = TeiErrorType(error.code);
    body["detail"] = error.message;
    return body;
  }
};

}  // namespace

const Endpoint& RerankEndpoint() {
  static const Rerank endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
