#include "coordinator/endpoints/rerank/rerank_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/endpoints/rerank/ranking.h"
#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

/// The form of a response in JSON, if the request's own form leaves it to the server.
const google::protobuf::Descriptor& ServersForm(RerankForm form) {
  return form == RerankForm::kSglang ? *v1::SglangRerankResponse::descriptor()
                                     : *v1::CohereRerankResponse::descriptor();
}

/// The 400 of a priority above Cohere's, which is the maximum of the form that takes these, and not
/// the one of OptionsFault.
std::optional<proto::Error> CoherePriorityFault(const MessageRequest<v1::RerankRequest>& request) {
  if (request.is_message) {
    return std::nullopt;
  }
  const std::optional<std::size_t> field = request.form->IndexOf("priority");
  const std::optional<double> most = field ? request.form->fields()[*field].maximum : std::nullopt;
  if (!most || static_cast<double>(request.priority) <= *most) {
    return std::nullopt;
  }
  return BadRequest("priority_out_of_range",
                    "priority must be from " + std::to_string(kMinPriority) + " to " +
                        std::to_string(static_cast<std::int64_t>(*most)) + ", not " +
                        std::to_string(request.priority) + ".",
                    "priority");
}

}  // namespace

Expected<PreparedRequest> PrepareRerank(MessageRequest<v1::RerankRequest> request,
                                        const RequestContext& context,
                                        const OnDelta& /*on_delta*/) {
  v1::RerankRequest& message = request.message;
  if (auto fault = CoherePriorityFault(request)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  Expected<Ranking> made = RankingOf(request);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  Ranking ranking = *std::move(made);
  if (ranking.description == nullptr) {
    const RerankForm form = request.is_message ? RerankForm::kResults : context.options.rerank_form;
    ranking.description = &ServersForm(form);
    ranking.returns_documents =
        message.has_return_documents() ? message.return_documents() : form == RerankForm::kSglang;
  }
  // text-embeddings-inference has no activation of the model's own.
  if (ranking.description == v1::TeiRerankResponse::descriptor() &&
      context.config.is_classifier() && ranking.options.scale == ScoreScale::kModel) {
    ranking.options.scale = ScoreScale::kSigmoid;
  }
  ranking.documents = TextsOf(*message.mutable_documents());
  return PrepareRanking(std::move(ranking), context);
}

std::int64_t RerankResponseBytesBound(const MessageRequest<v1::RerankRequest>& request,
                                      const proto::ModelConfig& config) {
  const v1::RerankRequest& message = request.message;
  // SGLang's list has the id in each result.
  const std::int64_t result_bytes = kListBytes + 3 * kNumberBytes + EmbeddingBytes(config);
  std::int64_t bytes = kOtherBytes + std::int64_t{message.documents_size()} * result_bytes;
  const bool may_return = message.has_return_documents()
                              ? message.return_documents()
                              : !request.is_message && !request.form->is_dialect();
  if (may_return) {
    for (const std::string& document : message.documents()) {
      bytes += EscapedTextBytes(document);
    }
  }
  return bytes;
}

}  // namespace scorecast::coordinator
