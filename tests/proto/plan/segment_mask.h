#pragma once

#include <cstddef>
#include <vector>

#include "proto/plan/packed_sequence.h"
#include "tests/proto/plan/chain_begin.h"

namespace scorecast::proto {

/// The mask [rows][rows] by `Sees` and `ChainBegin`.
inline std::vector<std::vector<bool>> MaskOf(const std::vector<Segment>& segments) {
  std::vector<std::size_t> segment_of;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    segment_of.insert(segment_of.end(), static_cast<std::size_t>(segments[i].length), i);
  }
  const std::size_t rows = segment_of.size();
  std::vector<std::vector<bool>> sees(rows, std::vector<bool>(rows, false));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t key = 0; key <= row; ++key) {
      sees[row][key] = segment_of[key] >= ChainBegin(segments, segment_of[row]) ||
                       Sees(segments[segment_of[row]].kind, segments[segment_of[key]].kind);
    }
  }
  return sees;
}

}  // namespace scorecast::proto
