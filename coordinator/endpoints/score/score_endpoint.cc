#include "coordinator/endpoints/score/score_endpoint.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/rerank/pair_score_json.h"
#include "coordinator/endpoints/score/score_fields.h"
#include "coordinator/endpoints/score/score_json.h"
#include "coordinator/endpoints/score/score_messages.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

class Score : public Endpoint {
 public:
  std::string_view name() const override { return "score"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 2> kUrls = {"/v1/score", "/score"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kScoreFieldNumber; }
  std::span<const FieldTable* const> forms() const override {
    static constexpr std::array kForms = {&kScoreFields, &kPairScoreFields};
    return kForms;
  }

  ParsedRequest FromJson(const nlohmann::json& body) const override {
    return IsPairScore(body) ? AsParsed(PairScoreRequestFromJson(body))
                             : AsParsed(ScoreRequestFromJson(body));
  }
  ParsedRequest FromMessage(const v1::Request& message) const override {
    return AsParsed(ScoreRequestFromMessage(message.score()));
  }
  std::vector<const ResponseForm*> response_forms() const override {
    return {&FormOf(*v1::ScoreResponse::descriptor()),
            &FormOf(*v1::PairScoreResponse::descriptor())};
  }
};

}  // namespace

const Endpoint& ScoreEndpoint() {
  static const Score endpoint;
  return endpoint;
}

}  // namespace scorecast::coordinator
