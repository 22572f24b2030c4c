#include "launcher/log/progress_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "proto/base/count.h"

namespace scorecast::launcher {
namespace {

constexpr std::chrono::seconds kWindow{60};
constexpr std::size_t kBarCells = 20;

std::string Duration(double seconds) {
  const auto whole = std::llround(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// A rate with three digits, or with all digits before the point if there are more.
std::string Rounded(double rate) {
  return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

}  // namespace

void ProgressText::Add(const Sample& sample) {
  samples_.push_back(sample);
  while (samples_.size() > 2 && samples_[1].time <= sample.time - kWindow) {
    samples_.pop_front();
  }
}

std::string ProgressText::Line() const {
  const std::int64_t records = samples_.empty() ? 0 : samples_.back().records;
  std::string text = proto::Count(records, "line");
  if (const auto share = Share()) {
    text += fmt::format(", {:.0f} % of the input", std::floor(*share * 100));
  }
  if (const auto rate = Rate()) {
    text += fmt::format(", {} lines/s", Rounded(*rate));
  }
  if (const auto left = SecondsLeft()) {
    text += fmt::format(", {} left", Duration(*left));
  }
  return text;
}

std::string ProgressText::Bar(std::size_t columns) const {
  std::string text;
  if (const auto share = Share()) {
    const auto done = static_cast<std::size_t>(*share * kBarCells);
    text = fmt::format("[{}{}] {:3.0f} %  ", std::string(done, '#'),
                       std::string(kBarCells - done, '-'), std::floor(*share * 100));
  }
  text += proto::Count(samples_.empty() ? 0 : samples_.back().records, "line");
  if (const auto rate = Rate()) {
    text += fmt::format("  {}/s", Rounded(*rate));
  }
  if (const auto left = SecondsLeft()) {
    text += fmt::format("  {} left", Duration(*left));
  }
  return text.substr(0, columns);
}

std::optional<double> ProgressText::Share() const {
  if (!size_ || samples_.empty()) {
    return std::nullopt;
  }
  const auto size = static_cast<double>(std::max<std::int64_t>(*size_, 1));
  return std::clamp(static_cast<double>(samples_.back().position) / size, 0.0, 1.0);
}

std::optional<double> ProgressText::Rate() const {
  const double seconds = Seconds();
  if (seconds <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(samples_.back().records - samples_.front().records) / seconds;
}

std::optional<double> ProgressText::SecondsLeft() const {
  const double seconds = Seconds();
  if (!size_ || seconds <= 0) {
    return std::nullopt;
  }
  const auto moved = static_cast<double>(samples_.back().position - samples_.front().position);
  const auto left =
      static_cast<double>(std::max<std::int64_t>(*size_ - samples_.back().position, 0));
  // Nobody can use a forecast of more than a hundred days.
  constexpr double kLongest = 100.0 * 24 * 3600;
  if (moved <= 0 || left / moved * seconds > kLongest) {
    return std::nullopt;
  }
  return left / moved * seconds;
}

double ProgressText::Seconds() const {
  if (samples_.empty()) {
    return 0;
  }
  return std::chrono::duration<double>(samples_.back().time - samples_.front().time).count();
}

void DrawBar(const ProgressText& text) {
  constexpr std::size_t kUsualColumns = 80;
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::size_t columns = is_known ? size.ws_col : kUsualColumns;
  // One column stays free, because some terminals begin a new line after the last column.
  std::fprintf(stderr, "%s\x1B[K\r", text.Bar(columns - 1).c_str());
}

void EraseBar() { std::fputs("\x1B[K", stderr); }

}  // namespace scorecast::launcher
