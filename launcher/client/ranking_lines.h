#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scorecast::launcher {

struct RankedDocument {
  double score = 0;
  std::string_view text;
};

/// A line for each document: its score, a bar, and its text, in which control characters become
/// spaces. A full bar means a score of 1 or, if some scores are not between 0 and 1, the highest
/// score. Lines are cut to `columns` columns; if that is 0, they are not cut.
std::vector<std::string> RankingLines(const std::vector<RankedDocument>& ranking, int columns);

}  // namespace scorecast::launcher
