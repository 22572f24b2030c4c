#include "coordinator/schedule/pages/cache_peek.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "coordinator/schedule/pages/block_cache.h"
#include "proto/base/digest.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

using proto::kKvPageRows;
using proto::PackedSequence;
using proto::SegmentKind;
using proto::TokenId;

namespace {

/// Whether K/V of a segment is looked up in the cache. That of the next one is only if it is.
bool IsLookedUp(const PackedSequence& sequence, const proto::Segment& segment) {
  const bool has_suffix = sequence.segments.back().kind == SegmentKind::kSuffix;
  return segment.kind == SegmentKind::kPrefix ||
         (segment.kind == SegmentKind::kBlock && has_suffix);
}

template <typename T>
void AddTo(proto::Digest& digest, const T& values) {
  digest.Add(std::as_bytes(std::span(values)));
}

}  // namespace

std::vector<std::uint64_t> PageDigests(const PackedSequence& sequence, const std::string& salt) {
  std::vector<std::uint64_t> digests;
  const std::vector<TokenId> tokens = sequence.AllTokens();
  std::span<const TokenId> rest(tokens);
  std::uint64_t prefix_end = proto::DigestOf(salt);
  std::uint64_t end = prefix_end;  // Of the pages before.
  for (const proto::Segment& segment : sequence.segments) {
    if (!IsLookedUp(sequence, segment)) {
      break;
    }
    const bool is_prefix = segment.kind == SegmentKind::kPrefix;
    end = is_prefix || segment.continues ? end : prefix_end;
    for (std::int32_t row = 0; row < segment.length; row += kKvPageRows) {
      const auto page = rest.first(
          static_cast<std::size_t>(std::min(segment.length - row, std::int32_t{kKvPageRows})));
      rest = rest.subspan(page.size());
      proto::Digest digest;
      AddTo(digest, std::array{end, static_cast<std::uint64_t>(segment.first_position + row)});
      AddTo(digest, page);
      end = digest.value();
      digests.push_back(end);
    }
    prefix_end = is_prefix ? end : prefix_end;
  }
  return digests;
}

std::vector<std::int32_t> CachedRows(const PeekedSequence& peeked, const BlockCache& cache,
                                     const std::function<bool(std::uint64_t)>& is_expected) {
  const PackedSequence& sequence = peeked.sequence;
  std::vector<std::int32_t> rows(sequence.segments.size());
  const std::vector<TokenId> tokens = sequence.AllTokens();
  std::span<const TokenId> rest(tokens);
  const BlockCache::Node* prefix_end = cache.FindRoot(peeked.salt);
  const BlockCache::Node* end = prefix_end;  // Of the segment before; null if not all is cached.
  std::span<const std::uint64_t> pages(peeked.pages);  // Those from here on.
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const proto::Segment& segment = sequence.segments[i];
    if (!IsLookedUp(sequence, segment)) {
      break;
    }
    const bool is_prefix = segment.kind == SegmentKind::kPrefix;
    const auto own = rest.first(static_cast<std::size_t>(segment.length));
    rest = rest.subspan(own.size());
    end = is_prefix || segment.continues ? end : prefix_end;
    for (std::int32_t row = 0; row < segment.length; row += kKvPageRows) {
      const auto left = own.subspan(static_cast<std::size_t>(row));
      const auto page = left.first(std::min<std::size_t>(left.size(), kKvPageRows));
      end = end == nullptr ? nullptr : cache.FindChild(*end, segment.first_position + row, page);
      const bool is_stored = end != nullptr || (!pages.empty() && is_expected(pages.front()));
      if (rows[i] == row && is_stored) {
        rows[i] += static_cast<std::int32_t>(page.size());
      }
      pages = pages.empty() ? pages : pages.subspan(1);
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
    const std::int32_t row = read.is_pooled() ? read.first_row : read.row;
    const auto own = static_cast<std::size_t>(
        std::upper_bound(first_rows.begin(), first_rows.end(), row) - first_rows.begin() - 1);
    rows[own] = std::min(rows[own], row - first_rows[own]);
  }
  return rows;
}

}  // namespace scorecast::coordinator
