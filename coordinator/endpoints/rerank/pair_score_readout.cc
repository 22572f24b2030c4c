#include "coordinator/endpoints/rerank/pair_score_readout.h"

#include <utility>

#include "coordinator/endpoints/response_id.h"
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {

proto::Expected<std::unique_ptr<EndpointResponse>> PairScoreReadout::Respond(const JobRows& rows) {
  const proto::Expected<std::vector<Relevance>> pairs = relevance.Of(rows);
  if (!pairs) {
    return proto::Unexpected(pairs.error());
  }
  auto response = std::make_unique<v1::PairScoreResponse>();
  response->set_id(ResponseId("score-", identity));
  response->set_created(CreatedTime(identity));
  response->mutable_data()->Reserve(static_cast<int>(pairs->size()));
  for (const Relevance& of_pair : *pairs) {
    v1::PairScore& pair = *response->add_data();
    pair.set_index(response->data_size() - 1);
    pair.set_score(of_pair.score);
  }
  return std::make_unique<EndpointResponse>(std::move(response), description);
}

}  // namespace scorecast::coordinator
