#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scorecast::launcher {

struct RankedDocument {
  double score = 0;
  std::string_view text;
};

/// A line for each document: its score, a bar, and its text, in which control characters are
/// spaces. A full bar is a score of 1, or, if some scores are not between 0 and 1, the highest of
/// them. Lines are at most `columns` wide, or as long as they are if it is 0.
std::vector<std::string> RankingLines(const std::vector<RankedDocument>& ranking, int columns);

}  // namespace scorecast::launcher
