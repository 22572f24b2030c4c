#include "launcher/client/ranking_lines.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "launcher/client/terminal_text.h"

namespace scorecast::launcher {
namespace {

/// Scores that are mapped to an empty and to a full bar.
struct Scale {
  double empty = 0;
  double full = 1;
};

Scale ScaleOf(const std::vector<RankedDocument>& ranking) {
  Scale seen{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const RankedDocument& document : ranking) {
    seen.empty = std::min(seen.empty, document.score);
    seen.full = std::max(seen.full, document.score);
  }
  return seen.empty >= 0 && seen.full <= 1 ? Scale() : seen;
}

double PartOf(double score, const Scale& scale) {
  return scale.full > scale.empty ? (score - scale.empty) / (scale.full - scale.empty) : 1;
}

}  // namespace

std::vector<std::string> RankingLines(const std::vector<RankedDocument>& ranking, int columns) {
  const Scale scale = ScaleOf(ranking);
  const int bar_columns = BarColumns(columns);
  std::vector<std::string> lines;
  for (const RankedDocument& document : ranking) {
    std::array<char, 32> score{};
    const int score_columns = std::snprintf(score.data(), score.size(), "%8.4f", document.score);
    lines.push_back(std::string(score.data()) + " " +
                    Bar(PartOf(document.score, scale), bar_columns) + " " +
                    Fitted(document.text, ColumnsLeft(columns, score_columns + bar_columns + 2)));
  }
  return lines;
}

}  // namespace scorecast::launcher
