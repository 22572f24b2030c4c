#include "coordinator/endpoints/rerank/rerank_readout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include "coordinator/endpoints/response_id.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
proto::Expected<std::unique_ptr<EndpointResponse>> RerankReadout::Respond(const JobRows& rows) {
  const proto::Expected<std::vector<Relevance>> relevances = relevance.Of(rows);
  if (!relevances) {
    return proto::Unexpected(relevances.error());
  }
  const std::vector<Relevance>& all = *relevances;
  std::vector<std::size_t> best_first(all.size());
  std::iota(best_first.begin(), best_first.end(), std::size_t{0});
  std::erase_if(best_first, [&](std::size_t index) { return all[index].score < score_threshold; });
  std::ranges::stable_sort(best_first,
                           [&](std::size_t a, std::size_t b) { return all[a].raw > all[b].raw; });
  if (top_n > 0 && static_cast<std::size_t>(top_n) < best_first.size()) {
    best_first.resize(static_cast<std::size_t>(top_n));
  }
  auto response = std::make_unique<v1::RerankResponse>();
  response->set_id(ResponseId("rerank-", identity));
  response->mutable_results()->Reserve(static_cast<int>(best_first.size()));
  for (const std::size_t index : best_first) {
    v1::RerankResult& result = *response->add_results();
    result.set_index(static_cast<std::int64_t>(index));
    result.set_relevance_score(all[index].score);
    if (returns_documents) {
      result.set_document(std::move(documents[index]));
    }
  }
  return std::make_unique<EndpointResponse>(std::move(response), description);
}

}  // namespace scorecast::coordinator
