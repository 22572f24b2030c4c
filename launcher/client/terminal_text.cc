#include "launcher/client/terminal_text.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cwchar>
#include <limits>

#include <sys/ioctl.h>
#include <unistd.h>

namespace scorecast::launcher {
namespace {

constexpr int kBarColumns = 20;
constexpr int kNarrowBarColumns = 8;
/// Terminals with fewer columns get narrow bars.
constexpr int kNarrowColumns = 60;

}  // namespace

int TerminalColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int BarColumns(int columns) {
  return columns > 0 && columns < kNarrowColumns ? kNarrowBarColumns : kBarColumns;
}

int ColumnsLeft(int columns, int used) {
  return columns > 0 ? std::max(columns - used, 1) : std::numeric_limits<int>::max();
}

std::string Bar(double part, int columns) {
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int>(std::lround(8 * columns * std::clamp(part, 0.0, 1.0)));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) {
    bar += "█";
  }
  bar += kEighths[static_cast<std::size_t>(eighths % 8)];
  return bar + std::string(static_cast<std::size_t>(columns - (eighths + 7) / 8), ' ');
}

std::string Fitted(std::string_view text, int columns) {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // Texts are UTF-8, whatever the user's locale is.
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

}  // namespace scorecast::launcher
