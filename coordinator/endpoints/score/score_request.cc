#include "coordinator/endpoints/score/score_request.h"

#include <algorithm>
#include <variant>

#include "coordinator/endpoints/response_bytes.h"

namespace scorecast::coordinator {

std::int64_t ScoreRequest::ResponseBytesBound(const proto::ModelConfig& config) const {
  const auto num_items = static_cast<std::int64_t>(items.size());
  // Labels of the largest list. The query's row has no more labels.
  std::int64_t of_largest = 0;
  std::int64_t of_all = 0;
  if (const auto* lists = label_token_ids
                              ? std::get_if<std::vector<std::vector<TokenId>>>(&*label_token_ids)
                              : nullptr) {
    for (const std::vector<TokenId>& list : *lists) {
      of_largest = std::max(of_largest, static_cast<std::int64_t>(list.size()));
      of_all += static_cast<std::int64_t>(list.size());
    }
  } else {
    if (label_token_ids) {
      of_largest =
          static_cast<std::int64_t>(std::get<std::vector<TokenId>>(*label_token_ids).size());
    } else if (labels) {
      of_largest = static_cast<std::int64_t>(labels->size());
    } else {
      of_largest = config.num_labels;
    }
    of_all = num_items * of_largest;
  }
  std::int64_t bytes = kOtherBytes + num_items * kListBytes + of_all * kNumberBytes;
  if (return_token_logprobs) {
    bytes += (num_items + 1) * kListBytes + (of_all + of_largest) * kNumberBytes;
  }
  return bytes + (num_items + 1) * TopRowBytes(top_logprobs);
}

}  // namespace scorecast::coordinator
