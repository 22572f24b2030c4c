#include "coordinator/schedule/pages/kept_segments.h"

#include <algorithm>

#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {
namespace {

using proto::PackedSequence;
using proto::Segment;
using proto::SegmentKind;

/// Segments [begin, end). Each but the first continues the one before it.
struct Chain {
  std::size_t begin = 0;
  std::size_t end = 0;
  PassCost cost;
};

std::vector<Chain> ChainsOf(const PackedSequence& sequence, const proto::PlanLimits& limits) {
  std::vector<Chain> chains;
  std::vector<std::size_t> chain_of_row;
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    const Segment& segment = sequence.segments[i];
    if (!segment.continues) {
      chains.push_back({i, i, {}});
    }
    chains.back().end = i + 1;
    chains.back().cost.rows += segment.length;
    chains.back().cost.kv_rows += proto::KvRows(segment.length);
    chain_of_row.resize(chain_of_row.size() + static_cast<std::size_t>(segment.length),
                        chains.size() - 1);
  }
  for (const proto::RowRead& read : sequence.reads) {
    PassCost& cost = chains[chain_of_row[static_cast<std::size_t>(read.row)]].cost;
    cost.reads += proto::RowsOfRead(read);
    cost.logit_bytes += ReadBytesOf(sequence, read, limits);
  }
  return chains;
}

/// Whether later segments, or later rows of a completion, see the chain.
bool IsSeenLater(const PackedSequence& sequence, const Chain& chain,
                 std::span<const Generation> generations) {
  switch (sequence.segments[chain.begin].kind) {
    case SegmentKind::kPrefix:
      return true;
    case SegmentKind::kBlock:
      return sequence.segments.back().kind == SegmentKind::kSuffix;
    case SegmentKind::kSuffix:
      return std::any_of(generations.begin(), generations.end(), [&](const Generation& generation) {
        return chain.begin <= generation.segment && generation.segment < chain.end;
      });
  }
  return true;
}

std::int64_t PagesOf(const PackedSequence& sequence, const Chain& chain,
                     std::span<const Generation> generations) {
  std::int64_t pages = 0;
  for (std::size_t i = chain.begin; i < chain.end; ++i) {
    std::int64_t rows = sequence.segments[i].length;
    for (const Generation& generation : generations) {
      // The row of the last token is not computed, since no token follows it.
      rows +=
          generation.segment == i ? std::max<std::int64_t>(generation.max_new_tokens - 1, 0) : 0;
    }
    pages += KvPages(rows);
  }
  return pages;
}

}  // namespace

std::vector<bool> MustBeKept(const PackedSequence& sequence, const proto::PlanLimits& limits,
                             std::span<const Generation> generations) {
  std::vector<bool> kept(sequence.segments.size());
  for (const Chain& chain : ChainsOf(sequence, limits)) {
    if (IsSeenLater(sequence, chain, generations) || !FitsPass(chain.cost, limits)) {
      std::fill(kept.begin() + static_cast<std::ptrdiff_t>(chain.begin),
                kept.begin() + static_cast<std::ptrdiff_t>(chain.end), true);
    }
  }
  return kept;
}

std::int64_t KeptPages(const PackedSequence& sequence, const proto::PlanLimits& limits,
                       std::span<const Generation> generations) {
  std::int64_t seen_later = 0;
  std::int64_t one_at_a_time = 0;
  for (const Chain& chain : ChainsOf(sequence, limits)) {
    const std::int64_t pages = PagesOf(sequence, chain, generations);
    if (IsSeenLater(sequence, chain, generations)) {
      seen_later += pages;
    } else if (!FitsPass(chain.cost, limits)) {
      one_at_a_time = std::max(one_at_a_time, pages);
    }
  }
  return seen_later + one_at_a_time;
}

std::int32_t FirstReadRow(const PackedSequence& sequence, const Generation& generation) {
  std::int32_t end = 0;
  for (std::size_t i = 0; i <= generation.segment; ++i) {
    end += sequence.segments[i].length;
  }
  return end - 1;
}

}  // namespace scorecast::coordinator
