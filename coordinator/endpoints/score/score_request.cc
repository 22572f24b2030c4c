#include "coordinator/endpoints/score/score_request.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "coordinator/endpoints/response_bytes.h"

namespace scorecast::coordinator {
namespace {

/// Number of labels of each item: the same for all, or one for each.
class LabelCounts {
 public:
  LabelCounts(const ScoreRequest& request, const proto::ModelConfig& config)
      : lists_(request.label_token_ids
                   ? std::get_if<std::vector<std::vector<TokenId>>>(&*request.label_token_ids)
                   : nullptr) {
    if (lists_ != nullptr) {
      return;
    }
    if (request.label_token_ids) {
      for_all_ = std::get<std::vector<TokenId>>(*request.label_token_ids).size();
    } else if (request.labels) {
      for_all_ = request.labels->size();
    } else {
      for_all_ = static_cast<std::size_t>(config.num_labels);
    }
  }

  /// A request with too few lists is refused later.
  std::int64_t Of(std::size_t item) const {
    const std::size_t own = lists_ != nullptr && item < lists_->size() ? (*lists_)[item].size() : 0;
    return static_cast<std::int64_t>(lists_ != nullptr ? own : for_all_);
  }

 private:
  const std::vector<std::vector<TokenId>>* lists_ = nullptr;
  std::size_t for_all_ = 0;
};

/// Upper bound on the rows of an item in a setwise response. A token of a text has at least one
/// byte.
std::int64_t MostOccurrences(const TextOrIds& item, const proto::ModelConfig& config) {
  const std::size_t most = IsText(item) ? Text(item).size() : Ids(item).size();
  return std::min(static_cast<std::int64_t>(most), config.max_position_embeddings);
}

}  // namespace

std::int64_t ScoreRequest::ResponseBytesBound(const proto::ModelConfig& config) const {
  const LabelCounts counts(*this, config);
  std::int64_t rows = 0;
  std::int64_t numbers = 0;
  std::int64_t most_labels = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::int64_t rows_of_item =
        score_extraction_token ? MostOccurrences(items[i], config) : 1;
    rows += rows_of_item;
    numbers += rows_of_item * counts.Of(i);
    most_labels = std::max(most_labels, counts.Of(i));
  }
  std::int64_t bytes = kOtherBytes + rows * kListBytes + numbers * kNumberBytes;
  if (score_extraction_token) {
    bytes += static_cast<std::int64_t>(items.size()) * kNumberBytes;
  }
  if (return_token_logprobs) {
    // The query's row has no more labels than that of an item.
    bytes += (rows + 1) * kListBytes + (numbers + most_labels) * kNumberBytes;
  }
  return bytes + (rows + 1) * TopRowBytes(top_logprobs);
}

}  // namespace scorecast::coordinator
