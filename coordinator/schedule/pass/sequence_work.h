#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coordinator/schedule/pass/pass_work.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// Counts the keys that the rows of a sequence attend to: see proto::Sees. The segments, or the
/// pages of segments, are named in their order.
class KeyCount {
 public:
  /// The next segment, of which `rows` rows exist. Returns the number of keys that its row 0 sees
  /// besides itself.
  std::int64_t Next(proto::SegmentKind kind, bool continues, std::int64_t rows);

  /// The keys of rows [begin, end) of a segment whose row 0 sees `before` others: the mean over the
  /// model's layers. Within a window, all keys count as if they had positions of their own, so rows
  /// that see many blocks have more than are counted. If rows see both sides, the segment has `end`
  /// rows.
  static std::int64_t Keys(std::int64_t before, std::int64_t begin, std::int64_t end,
                           const proto::KeyReach& reach = {});

 private:
  std::int64_t prefix_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t chain_ = 0;
};

/// What a RowRead or a PlanRead takes beyond its rows. `labels` is the length of its label list.
template <typename Read>
PassWork WorkOfRead(const Read& read, std::size_t labels) {
  const auto logits = static_cast<std::int64_t>(labels);
  return {
      .reads = proto::RowsOfRead(read),
      .labels = read.normalizer && !read.excludes_labels ? logits : 0,
      .products = read.normalizer ? 0 : logits,
      .top = read.top_k,
      .draws = (read.draw ? 1 : 0) + (read.bin_width > 0 ? 1 : 0) + std::ssize(read.masses.places),
      .adjusted = read.excludes_labels ? logits : 0};
}

/// What it takes to compute a sequence, if the first rows of its segments are stored already.
/// `stored` is [segments], or empty if none are.
PassWork WorkOf(const proto::PackedSequence& sequence, const proto::KeyReach& reach,
                std::span<const std::int32_t> stored = {});

/// The number of rows that take `seconds`, if the first of them sees `before` others and each other
/// one more. At least 0.
std::int64_t RowsWithin(double seconds, const PassRates& rates, std::int64_t before,
                        const proto::KeyReach& reach = {});

}  // namespace scorecast::coordinator
