#include "launcher/client/ranking_lines.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cwchar>
#include <limits>

namespace scorecast::launcher {
namespace {

constexpr int kBarColumns = 20;
constexpr int kNarrowBarColumns = 8;
/// Terminals with fewer columns get narrow bars.
constexpr int kNarrowColumns = 60;

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

/// A bar of `columns` columns, drawn in eighths of a column and filled up with spaces.
std::string Bar(double score, const Scale& scale, int columns) {
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double part =
      scale.full > scale.empty ? (score - scale.empty) / (scale.full - scale.empty) : 1;
  const auto eighths = static_cast<int>(std::lround(8 * columns * std::clamp(part, 0.0, 1.0)));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) {
    bar += "█";
  }
  bar += kEighths[static_cast<std::size_t>(eighths % 8)];
  return bar + std::string(static_cast<std::size_t>(columns - (eighths + 7) / 8), ' ');
}

/// The text in at most `columns` columns, ending in an ellipsis if it is cut. Bytes that are no
/// character of the locale count as one column each.
std::string Fitted(std::string_view text, int columns) {
  std::string fitted;
  std::size_t before_ellipsis = 0;  // Bytes that leave one column for the ellipsis.
  int used = 0;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
    int width = 1;
    if (bytes == 0 || bytes > text.size()) {
      bytes = 1;
      state = {};
    } else {
      width = wcwidth(character);
    }
    const bool is_control = width < 0 || static_cast<unsigned char>(text.front()) < 0x20;
    width = is_control ? 1 : width;
    if (used + width > columns) {
      return fitted.substr(0, before_ellipsis) + "…";
    }
    fitted += is_control ? " " : text.substr(0, bytes);
    used += width;
    if (used < columns) {
      before_ellipsis = fitted.size();
    }
    text.remove_prefix(bytes);
  }
  return fitted;
}

}  // namespace

std::vector<std::string> RankingLines(const std::vector<RankedDocument>& ranking, int columns) {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // Documents are UTF-8, whatever the user's locale is.
  const Scale scale = ScaleOf(ranking);
  const int bar_columns = columns > 0 && columns < kNarrowColumns ? kNarrowBarColumns : kBarColumns;
  std::vector<std::string> lines;
  for (const RankedDocument& document : ranking) {
    std::array<char, 32> score{};
    const int score_columns = std::snprintf(score.data(), score.size(), "%8.4f", document.score);
    const int left = columns - score_columns - bar_columns - 2;
    lines.push_back(
        std::string(score.data()) + " " + Bar(document.score, scale, bar_columns) + " " +
        Fitted(document.text, columns > 0 ? std::max(left, 1) : std::numeric_limits<int>::max()));
  }
  return lines;
}

}  // namespace scorecast::launcher
