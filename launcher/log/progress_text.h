#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace scorecast::launcher {

/// The text that shows a run's progress. It is computed from samples of how far the run had come.
class ProgressText {
 public:
  using Clock = std::chrono::steady_clock;

  struct Sample {
    Clock::time_point time;
    std::int64_t records = 0;   ///< Written so far.
    std::int64_t position = 0;  ///< Position in the input, in bytes.
  };

  /// `size` is the input's size, if it is known.
  explicit ProgressText(std::optional<std::int64_t> size) : size_(size) {}

  /// Adds a sample. Samples must come in the order of their times, and the first one must be from
  /// before the first record. The rate is that of the last minute.
  void Add(const Sample& sample);

  /// E.g. "1234 lines, 45 % of the input, 10.3 lines/s, 0:12:34 left". Parts that are not known are
  /// left out.
  std::string Line() const;
  /// "[#########-----------] " and a shorter form of the line. Without the bar if the size is not
  /// known. Cut to `columns` columns.
  std::string Bar(std::size_t columns) const;

 private:
  /// From 0 to 1.
  std::optional<double> Share() const;
  /// Records per second.
  std::optional<double> Rate() const;
  std::optional<double> SecondsLeft() const;
  double Seconds() const;

  const std::optional<std::int64_t> size_;
  std::deque<Sample> samples_;
};

/// Draws a bar over the last line of a terminal, which is standard error. The cursor stays at the
/// line's start, so that the next output replaces the bar.
void DrawBar(const ProgressText& text);
void EraseBar();

}  // namespace scorecast::launcher
