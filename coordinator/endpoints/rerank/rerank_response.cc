#include "coordinator/endpoints/rerank/rerank_response.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "coordinator/endpoints/rerank/response_id.h"

namespace scorecast::coordinator {

proto::Expected<std::unique_ptr<EndpointResponse>> RerankReadout::Respond(
    const JobRows& rows) const {
  const proto::Expected<std::vector<double>> scores = relevance.Scores(rows);
  if (!scores) {
    return proto::Unexpected(scores.error());
  }
  std::vector<std::size_t> best_first(scores->size());
  std::iota(best_first.begin(), best_first.end(), std::size_t{0});
  std::ranges::stable_sort(
      best_first, [&](std::size_t a, std::size_t b) { return (*scores)[a] > (*scores)[b]; });
  if (top_n > 0 && static_cast<std::size_t>(top_n) < best_first.size()) {
    best_first.resize(static_cast<std::size_t>(top_n));
  }
  auto response = std::make_unique<RerankResponse>();
  response->id = ResponseId("rerank-", identity);
  response->form = form;
  response->results.reserve(best_first.size());
  for (const std::size_t index : best_first) {
    RerankResponse::Result& result = response->results.emplace_back();
    result.index = static_cast<std::int64_t>(index);
    result.score = (*scores)[index];
    if (returns_documents) {
      result.document = documents[index];
    }
  }
  return std::unique_ptr<EndpointResponse>(std::move(response));
}

}  // namespace scorecast::coordinator
