#include "coordinator/endpoints/rerank/pair_score_readout.h"

#include <chrono>
#include <utility>

#include "coordinator/endpoints/rerank/response_id.h"
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {

proto::Expected<std::unique_ptr<EndpointResponse>> PairScoreReadout::Respond(const JobRows& rows) {
  const proto::Expected<std::vector<double>> scores = relevance.Scores(rows);
  if (!scores) {
    return proto::Unexpected(scores.error());
  }
  auto response = std::make_unique<v1::PairScoreResponse>();
  response->set_id(ResponseId("score-", identity));
  response->set_created(identity ? identity->created
                                 : std::chrono::duration_cast<std::chrono::seconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
  response->mutable_data()->Reserve(static_cast<int>(scores->size()));
  for (const double score : *scores) {
    v1::PairScore& pair = *response->add_data();
    pair.set_index(response->data_size() - 1);
    pair.set_score(score);
  }
  return std::make_unique<EndpointResponse>(std::move(response));
}

}  // namespace scorecast::coordinator
