#include "coordinator/endpoints/rerank/rerank_messages.h"

#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

RerankRequest RerankRequestFromMessage(const v1::RerankRequest& message) {
  RerankRequest request;
  request.query = message.query();
  request.documents.assign(message.documents().begin(), message.documents().end());
  RelevanceOptions& relevance = request.relevance;
  if (message.has_instruction()) {
    relevance.instruction = message.instruction();
  }
  relevance.max_tokens_per_doc = message.max_tokens_per_doc();
  if (message.has_truncate_prompt_tokens()) {
    relevance.truncate_prompt_tokens = message.truncate_prompt_tokens();
  }
  relevance.truncate = !message.has_truncate() || message.truncate();
  if (message.has_truncation_direction()) {
    relevance.truncation_direction = message.truncation_direction();
  }
  relevance.raw_scores = message.raw_scores();
  request.top_n = message.top_n();
  request.return_documents = message.return_documents();
  request.form = RerankForm::kResults;
  ReadOptions(message, request);
  return request;
}

RerankResponse RerankResponseFromMessage(const v1::RerankResponse& message) {
  RerankResponse response;
  response.id = message.id();
  for (const v1::RerankResult& from : message.results()) {
    RerankResponse::Result& result = response.results.emplace_back();
    result.index = from.index();
    result.score = from.relevance_score();
    if (from.has_document()) {
      result.document = from.document();
    }
  }
  response.model = message.model();
  response.usage = UsageOf(message.usage());
  response.timings = TimingsOf(message.timings());
  return response;
}

void RerankResponse::ToMessage(v1::Response& response) const {
  v1::RerankResponse& message = *response.mutable_rerank();
  message.set_id(id);
  for (const Result& result : results) {
    v1::RerankResult& to = *message.add_results();
    to.set_index(result.index);
    to.set_relevance_score(result.score);
    if (result.document) {
      to.set_document(*result.document);
    }
  }
  message.set_model(model);
  coordinator::ToMessage(usage, *message.mutable_usage());
  coordinator::ToMessage(timings, *message.mutable_timings());
}

}  // namespace scorecast::coordinator
