#include "coordinator/endpoints/score/score_request.h"

#include <algorithm>
#include <cstddef>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {
namespace {

/// Number of labels of each item: the same for all, or one for each.
class LabelCounts {
 public:
  LabelCounts(const v1::ScoreRequest& request, const proto::ModelConfig& config)
      : labels_(request.label_token_ids()) {
    if (labels_.has_for_all()) {
      for_all_ = labels_.for_all().ids_size();
    } else {
      for_all_ = request.labels_size() > 0 ? request.labels_size() : config.num_labels;
    }
  }

  /// A request with too few lists is refused later.
  std::int64_t Of(int item) const {
    if (!labels_.has_per_item()) {
      return for_all_;
    }
    const auto& lists = labels_.per_item().lists();
    return item < lists.size() ? lists[item].ids_size() : 0;
  }

 private:
  const v1::LabelTokenIds& labels_;
  std::int64_t for_all_ = 0;
};

/// A row of a token is kept until its number is formed. Calls count one to four bytes for each byte
/// of a message, so half of it is counted here.
constexpr auto kReadBytes =
    static_cast<std::int64_t>(sizeof(proto::RowRead) + sizeof(proto::RowLogits)) / 2;

/// Upper bound on the tokens of an item. A token of a text has at least one byte.
std::int64_t MostTokens(const v1::TextOrIds& item, const proto::ModelConfig& config) {
  const std::size_t most = item.has_ids() ? SizeOf(item.ids().ids()) : item.text().size();
  return std::min(static_cast<std::int64_t>(most), config.max_position_embeddings);
}

}  // namespace

std::int64_t ScoreResponseBytesBound(const MessageRequest<v1::ScoreRequest>& own,
                                     const proto::ModelConfig& config) {
  const v1::ScoreRequest& request = own.message;
  if (request.likelihood()) {
    std::int64_t bytes = kOtherBytes;
    for (const v1::TextOrIds& item : request.items()) {
      bytes += 2 * kListBytes + kNumberBytes + 1 + MostTokens(item, config) * kReadBytes;
    }
    return bytes;
  }
  const LabelCounts counts(request, config);
  std::int64_t rows = 0;
  std::int64_t numbers = 0;
  std::int64_t most_labels = 0;
  for (int i = 0; i < request.items_size(); ++i) {
    const std::int64_t rows_of_item =
        request.has_score_extraction_token() ? MostTokens(request.items(i), config) : 1;
    rows += rows_of_item;
    numbers += rows_of_item * counts.Of(i);
    most_labels = std::max(most_labels, counts.Of(i));
  }
  std::int64_t bytes = kOtherBytes + rows * kListBytes + numbers * kNumberBytes;
  if (request.has_score_extraction_token()) {
    bytes += std::int64_t{request.items_size()} * kNumberBytes;
  }
  if (request.return_token_logprobs()) {
    // The query's row has no more labels than that of an item.
    bytes += (rows + 1) * kListBytes + (numbers + most_labels) * kNumberBytes;
  }
  return bytes + (rows + 1) * TopRowBytes(request.top_logprobs());
}

}  // namespace scorecast::coordinator
