#pragma once

#include <cstddef>

namespace scorecast::proto {

/// Index of the first segment of the chain that segment `index` belongs to: the one that it
/// continues, directly or through others, or `index` itself. A row of the segment sees the chain's
/// segments before its own, whole, and its own segment up to itself. Sees says which segments
/// before the chain it sees. The elements of `segments` have a member `continues`.
template <typename Segments>
std::size_t ChainBegin(const Segments& segments, std::size_t index) {
  while (segments[index].continues) {
    --index;
  }
  return index;
}

}  // namespace scorecast::proto
