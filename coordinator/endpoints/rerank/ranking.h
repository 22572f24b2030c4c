#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/message_request.h"
#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// What is ranked in one request, whatever its message is.
struct Ranking {
  std::string_view query;
  std::vector<std::string> documents;  ///< Their texts.
  std::string documents_field;         ///< The client's name of them.
  RelevanceOptions options;
  std::int64_t top_n = 0;  ///< 0: all.
  std::string top_n_field;
  std::optional<double> score_threshold;  ///< Documents with a lower score are left out.
  bool returns_documents = false;
  /// [documents] What is returned instead of the texts. Empty: the texts are.
  std::vector<std::string> records;
  /// Describes the response's JSON.
  const google::protobuf::Descriptor* description = nullptr;
  std::optional<ResponseIdentity> identity;
};

/// The ranking of a request, with all but its documents and the response's description, or the
/// fault of RelevanceOf. It refers to the request's query.
template <typename Message>
proto::Expected<Ranking> RankingOf(const MessageRequest<Message>& request) {
  const Message& message = request.message;
  proto::Expected<RelevanceOptions> options = RelevanceOf(request);
  if (!options) {
    return proto::Unexpected(std::move(options).error());
  }
  Ranking ranking;
  ranking.query = message.query();
  ranking.documents_field = request.NameOf(Message::kDocumentsFieldNumber);
  ranking.options = *std::move(options);
  ranking.top_n = message.top_n();
  ranking.top_n_field = request.NameOf(Message::kTopNFieldNumber);
  if (message.has_score_threshold()) {
    ranking.score_threshold = message.score_threshold();
  }
  ranking.returns_documents = message.return_documents();
  ranking.description = request.is_message ? nullptr : request.form->response();
  ranking.identity = request.identity;
  return ranking;
}

/// Checks, tokenizes and packs a ranking. See EndpointRequest::Prepare.
proto::Expected<PreparedRequest> PrepareRanking(Ranking ranking, const RequestContext& context);

}  // namespace scorecast::coordinator
