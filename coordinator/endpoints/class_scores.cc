#include "coordinator/endpoints/class_scores.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

proto::Expected<std::vector<double>> ClassScores::Of(const proto::RowLogits& row,
                                                     std::size_t index) const {
  std::optional<std::vector<double>> scores = ScoresOfRow(row, kind, /*temperature=*/1);
  if (!scores) {
    return proto::Unexpected(NotFinite(At(field, index)));
  }
  return *std::move(scores);
}

std::vector<std::size_t> ClassesBestFirst(const proto::RowLogits& row) {
  std::vector<std::size_t> classes(row.label_logits.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  std::ranges::stable_sort(classes, std::ranges::greater{},
                           [&](std::size_t index) { return row.label_logits[index]; });
  return classes;
}

}  // namespace scorecast::coordinator
