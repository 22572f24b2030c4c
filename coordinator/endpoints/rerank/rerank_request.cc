#include "coordinator/endpoints/rerank/rerank_request.h"

#include <memory>
#include <numeric>
#include <utility>

#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/endpoints/rerank/rerank_readout.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

Expected<PreparedRequest> RerankRequest::Prepare(const RequestContext& context,
                                                 const OnDelta& /*on_delta*/) const {
  if (auto fault = OptionsFault(*this)) {
    return Unexpected(*std::move(fault));
  }
  if (top_n < 0) {
    return Unexpected(BadRequest("top_n_out_of_range",
                                 "top_n must be at least 0, not " + std::to_string(top_n) + ".",
                                 "top_n"));
  }
  const RerankForm response_form = form.value_or(context.options.rerank_form);
  QueryDocuments all{.query = query, .query_field = "query"};
  all.documents.resize(documents.size());
  std::iota(all.documents.begin(), all.documents.end(), std::size_t{0});
  Expected<PreparedRelevance> relevant = PrepareRelevance(
      {.queries = {&all, 1},
       .documents = documents,
       .documents_field = response_form == RerankForm::kTei ? "texts" : "documents",
       .options = relevance},
      context);
  if (!relevant) {
    return Unexpected(std::move(relevant).error());
  }
  auto readout = std::make_shared<RerankReadout>();
  readout->relevance = std::move(relevant->readout);
  readout->prompt_tokens = relevant->prompt_tokens;
  readout->identity = identity;
  readout->top_n = top_n;
  readout->form = response_form;
  readout->returns_documents = return_documents.value_or(response_form == RerankForm::kSglang);
  if (readout->returns_documents) {
    readout->documents = documents;
  }
  return PreparedRequest{.sequences = std::move(relevant->sequences),
                         .generations = {},
                         .readout = std::move(readout)};
}

std::int64_t RerankRequest::ResponseBytesBound(const proto::ModelConfig& /*config*/) const {
  // SGLang's list has the id in each result.
  constexpr std::int64_t kResultBytes = kListBytes + 3 * kNumberBytes;
  std::int64_t bytes = kOtherBytes + static_cast<std::int64_t>(documents.size()) * kResultBytes;
  if (return_documents.value_or(true)) {
    for (const std::string& document : documents) {
      bytes += EscapedTextBytes(document);
    }
  }
  return bytes;
}

}  // namespace scorecast::coordinator
