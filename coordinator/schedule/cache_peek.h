#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

class BlockCache;

/// [segments]: the number of first rows that need not be computed because their K/V is cached now.
/// Nothing is held, so it may be evicted before the sequence is computed. Pages of which only the
/// beginning is cached do not count, and neither do rows from the first one on that is read.
std::vector<std::int32_t> CachedRows(const proto::PackedSequence& sequence, const std::string& salt,
                                     const BlockCache& cache);

}  // namespace scorecast::coordinator
