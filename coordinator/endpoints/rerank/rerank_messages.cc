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

}  // namespace scorecast::coordinator
