#pragma once

#include <cstddef>

namespace scorecast::proto {

/// Index of the first segment of the chain to which segment `index` belongs: the segment that it
/// continues, directly or through others, or `index` itself. A row sees the earlier segments of its
/// chain as a whole, and its own segment up to itself. Sees says which segments before the chain
/// the row sees. The elements of `segments` have a member `continues`.
template <typename Segments>
std::size_t ChainBegin(const Segments& segments, std::size_t index) {
  while (segments[index].continues) {
    --index;
  }
  return index;
}

}  // namespace scorecast::proto
