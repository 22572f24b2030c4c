#include "coordinator/endpoints/rerank/rerank_endpoint.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_json.h"
#include "coordinator/endpoints/rerank/rerank_messages.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

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
  std::vector<const ResponseForm*> response_forms() const override {
    return {&FormOf(*v1::RerankResponse::descriptor(), *v1::CohereRerankResponse::descriptor()),
            &FormOf(*v1::RerankResponse::descriptor(), *v1::TeiRerankResponse::descriptor()),
            &FormOf(*v1::RerankResponse::descriptor(), *v1::SglangRerankResponse::descriptor())};
  }
  const ResponseForm& error_form() const override {
    return FormOf(*v1::Error::descriptor(), *v1::RerankErrorBody::descriptor());
  }
};

}  // namespace

const Endpoint& RerankEndpoint() {
  static const Rerank endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
