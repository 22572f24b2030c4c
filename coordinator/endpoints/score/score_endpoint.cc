#include "coordinator/endpoints/score/score_endpoint.h"

#include "coordinator/endpoints/message_endpoint.h"
#include "coordinator/endpoints/rerank/pair_score_request.h"
#include "coordinator/endpoints/score/score_request.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

const Endpoint& ScoreEndpoint() {
  static const MessageEndpoint endpoint(
      "score", {"/v1/score", "/score"},
      {&FormOf(*v1::ScoreResponse::descriptor()), &FormOf(*v1::PairScoreResponse::descriptor())},
      RequestFormOf<v1::ScoreRequest>(
          {PrepareScore,
           ScoreResponseBytesBound,
           {ModelKind::kLanguageModel, ModelKind::kClassifier, ModelKind::kEncoderClassifier}}),
      RequestFormOf<v1::PairScoreRequest>({PreparePairScore, PairScoreResponseBytesBound}));
  return endpoint;
}

}  // namespace scorecast::coordinator
