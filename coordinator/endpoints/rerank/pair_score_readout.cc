#include "coordinator/endpoints/rerank/pair_score_readout.h"

#include <utility>

#include "coordinator/endpoints/response_id.h"
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {

proto::Expected<std::unique_ptr<EndpointResponse>> PairScoreReadout::Respond(const JobRows& rows) {
  const proto::Expected<std::vector<double>> scores = relevance.Scores(rows);
  if (!scores) {
    return proto::Unexpected(scores.error());
  }
  auto response = std::make_unique<v1::PairScoreResponse>();
  response->set_id(ResponseId("score-", identity));
  response->set_created(CreatedTime(identity));
  response->mutable_data()->Reserve(static_cast<int>(scores->size()));
  for (const double score : *scores) {
    v1::PairScore& pair = *response->add_data();
    pair.set_index(response->data_size() - 1);
    pair.set_score(score);
  }
  return std::make_unique<EndpointResponse>(std::move(response), description);
}

}  // namespace scorecast::coordinator
