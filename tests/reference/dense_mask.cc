#include "tests/reference/dense_mask.h"

#include <cstddef>

namespace scorecast::reference {

std::vector<std::int32_t> RowPositions(std::span<const proto::Segment> segments) {
  std::vector<std::int32_t> positions;
  for (const proto::Segment& segment : segments) {
    for (std::int32_t i = 0; i < segment.length; ++i) {
      positions.push_back(segment.first_position + i);
    }
  }
  return positions;
}

std::vector<std::vector<bool>> DenseMask(std::span<const proto::Segment> segments,
                                         std::optional<std::int64_t> sliding_window,
                                         bool bidirectional) {
  std::size_t prefix_end = 0;
  std::size_t blocks_end = 0;
  std::size_t text_begin = 0;            // First row of the block or suffix of the current segment.
  std::vector<std::size_t> own_begin;    // [rows]
  std::vector<proto::SegmentKind> kind;  // [rows]
  std::vector<std::size_t> own_end;      // [rows]: the end of the row's segment.
  for (const proto::Segment& segment : segments) {
    if (!segment.continues) {
      text_begin = kind.size();
    }
    own_begin.insert(own_begin.end(), static_cast<std::size_t>(segment.length), text_begin);
    kind.insert(kind.end(), static_cast<std::size_t>(segment.length), segment.kind);
    own_end.resize(kind.size(), kind.size());
    if (segment.kind == proto::SegmentKind::kPrefix) {
      prefix_end = kind.size();
    }
    if (segment.kind != proto::SegmentKind::kSuffix) {
      blocks_end = kind.size();
    }
  }

  const std::size_t rows = kind.size();
  const std::vector<std::int32_t> position = RowPositions(segments);
  std::vector<std::vector<bool>> sees(rows, std::vector<bool>(rows, false));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t key = 0; key < (bidirectional ? own_end[row] : row + 1); ++key) {
      const bool in_prefix = key < prefix_end;
      const bool in_own_text = key >= own_begin[row];
      const bool in_any_block = key >= prefix_end && key < blocks_end;
      bool visible = in_prefix || in_own_text;
      if (kind[row] == proto::SegmentKind::kSuffix) {
        visible = visible || in_any_block;
      }
      if (sliding_window) {
        visible = visible && position[key] > position[row] - *sliding_window &&
                  (!bidirectional || position[key] < position[row] + *sliding_window);
      }
      sees[row][key] = visible;
    }
  }
  return sees;
}

}  // namespace scorecast::reference
