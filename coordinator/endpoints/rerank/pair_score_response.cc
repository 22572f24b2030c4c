#include "coordinator/endpoints/rerank/pair_score_response.h"

#include <chrono>
#include <utility>

#include "coordinator/endpoints/rerank/response_id.h"
#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

proto::Expected<std::unique_ptr<EndpointResponse>> PairScoreReadout::Respond(
    const JobRows& rows) const {
  proto::Expected<std::vector<double>> scores = relevance.Scores(rows);
  if (!scores) {
    return proto::Unexpected(std::move(scores).error());
  }
  auto response = std::make_unique<PairScoreResponse>();
  response->id = ResponseId("score-", identity);
  response->created = identity ? identity->created
                               : std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count();
  response->scores = *std::move(scores);
  return std::unique_ptr<EndpointResponse>(std::move(response));
}

void PairScoreResponse::ToMessage(v1::Response& response) const {
  v1::ScoreResponse& message = *response.mutable_score();
  for (const double score : scores) {
    message.add_scores()->add_values(score);
  }
  message.set_model(model);
  coordinator::ToMessage(usage, *message.mutable_usage());
  coordinator::ToMessage(timings, *message.mutable_timings());
}

}  // namespace scorecast::coordinator
