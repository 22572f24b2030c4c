#include "coordinator/endpoints/rerank/rerank_request.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/endpoints/rerank/rerank_readout.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/job.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

/// What decides the form of a response is the request's own form or, if it has several, the server.
RerankForm FormOfResponse(const MessageRequest<v1::RerankRequest>& request,
                          const ServerOptions& options) {
  if (request.is_message) {
    return RerankForm::kResults;
  }
  return request.form->is_dialect() ? RerankForm::kTei : options.rerank_form;
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
  if (message.top_n() < 0) {
    return Unexpected(BadRequest(
        "top_n_out_of_range",
        "top_n must be at least 0, not " + std::to_string(message.top_n()) + ".", "top_n"));
  }
  RelevanceOptions options = RelevanceOf(message);
  const RerankForm form = FormOfResponse(request, context.options);
  // text-embeddings-inference has no activation of the model's own.
  if (form == RerankForm::kTei && context.config.is_classifier() &&
      options.scale == ScoreScale::kModel) {
    options.scale = ScoreScale::kSigmoid;
  }
  std::vector<std::string> documents = TextsOf(*message.mutable_documents());
  QueryDocuments all{.query = message.query(), .query_field = "query"};
  all.documents.resize(documents.size());
  std::iota(all.documents.begin(), all.documents.end(), std::size_t{0});
  Expected<PreparedRelevance> relevant =
      PrepareRelevance({.queries = {&all, 1},
                        .documents = documents,
                        .documents_field = request.NameOf(v1::RerankRequest::kDocumentsFieldNumber),
                        .options = options},
                       context);
  if (!relevant) {
    return Unexpected(std::move(relevant).error());
  }
  auto readout = std::make_shared<RerankReadout>();
  readout->relevance = std::move(relevant->readout);
  readout->prompt_tokens = relevant->prompt_tokens;
  readout->identity = request.identity;
  readout->top_n = message.top_n();
  readout->form = form;
  readout->returns_documents = message.has_return_documents()
                                   ? message.return_documents()
                                   : readout->form == RerankForm::kSglang;
  if (readout->returns_documents) {
    readout->documents = std::move(documents);
  }
  return PreparedRequest{.sequences = std::move(relevant->sequences),
                         .generations = {},
                         .readout = std::move(readout)};
}

std::int64_t RerankResponseBytesBound(const MessageRequest<v1::RerankRequest>& request,
                                      const proto::ModelConfig& /*config*/) {
  const v1::RerankRequest& message = request.message;
  // SGLang's list has the id in each result.
  constexpr std::int64_t kResultBytes = kListBytes + 3 * kNumberBytes;
  std::int64_t bytes = kOtherBytes + std::int64_t{message.documents_size()} * kResultBytes;
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
