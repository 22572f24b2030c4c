#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

class BlockCache;

/// Digests of the pages of a sequence whose K/V may be cached: those of its prefixes, then those of
/// its blocks if a suffix follows them, in their order. Pages have the same digest if they share
/// their K/V in the cache: the salt, the tokens that they see, and all positions are the same.
std::vector<std::uint64_t> PageDigests(const proto::PackedSequence& sequence,
                                       const std::string& salt);

/// A sequence, with its PageDigests; without them nothing is expected.
struct PeekedSequence {
  const proto::PackedSequence& sequence;
  const std::string& salt;
  const std::vector<std::uint64_t>& pages;
};

/// [segments]: the number of first rows that need not be computed because their K/V is cached now,
/// or because `is_expected` of the digests of their pages. Nothing is held, so it may be evicted
/// before the sequence is computed. Pages of which only the beginning is cached do not count, and
/// neither do rows from the first one on that is read.
std::vector<std::int32_t> CachedRows(const PeekedSequence& peeked, const BlockCache& cache,
                                     const std::function<bool(std::uint64_t)>& is_expected);

}  // namespace scorecast::coordinator
