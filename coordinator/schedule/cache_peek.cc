#include "coordinator/schedule/cache_peek.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "coordinator/schedule/block_cache.h"

namespace scorecast::coordinator {

using proto::SegmentKind;

std::vector<std::int32_t> CachedRows(const proto::PackedSequence& sequence, const std::string& salt,
                                     const BlockCache& cache) {
  std::vector<std::int32_t> rows(sequence.segments.size());
  const BlockCache::Node* root = cache.FindRoot(salt);
  if (root == nullptr || sequence.segments.empty()) {
    return rows;
  }
  const bool has_suffix = sequence.segments.back().kind == SegmentKind::kSuffix;
  const std::vector<proto::TokenId> tokens = sequence.AllTokens();
  std::span<const proto::TokenId> rest(tokens);
  const BlockCache::Node* prefix_end = root;
  const BlockCache::Node* end = root;  // Of the segment before; null if it is not cached whole.
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const proto::Segment& segment = sequence.segments[i];
    const bool is_prefix = segment.kind == SegmentKind::kPrefix;
    if (!is_prefix && !(segment.kind == SegmentKind::kBlock && has_suffix)) {
      break;
    }
    const auto own = rest.first(static_cast<std::size_t>(segment.length));
    rest = rest.subspan(own.size());
    end = is_prefix || segment.continues ? end : prefix_end;
    while (end != nullptr && rows[i] < segment.length) {
      const auto left = own.subspan(static_cast<std::size_t>(rows[i]));
      const auto page = left.first(std::min<std::size_t>(left.size(), proto::kKvPageRows));
      end = cache.FindChild(*end, segment.first_position + rows[i], page);
      rows[i] += end == nullptr ? 0 : static_cast<std::int32_t>(page.size());
    }
    prefix_end = is_prefix ? end : prefix_end;
  }
  std::vector<std::int32_t> first_rows;  // [segments], within the sequence
  std::int32_t first_row = 0;
  for (const proto::Segment& segment : sequence.segments) {
    first_rows.push_back(first_row);
    first_row += segment.length;
  }
  for (const proto::RowRead& read : sequence.reads) {
    const auto own = static_cast<std::size_t>(
        std::upper_bound(first_rows.begin(), first_rows.end(), read.row) - first_rows.begin() - 1);
    rows[own] = std::min(rows[own], read.row - first_rows[own]);
  }
  return rows;
}

}  // namespace scorecast::coordinator
