#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace scorecast::launcher {

/// What a run tells of its progress, from how far it had come at several times.
class ProgressText {
 public:
  using Clock = std::chrono::steady_clock;

  struct Sample {
    Clock::time_point time;
    std::int64_t records = 0;   ///< Written so far.
    std::int64_t position = 0;  ///< In the input, in bytes.
  };

  /// `size`: that of the input, if it is known.
  explicit ProgressText(std::optional<std::int64_t> size) : size_(size) {}

  /// Samples come in the order of their times. The first one is from before the first record. The
  /// last minute counts for the rate.
  void Add(const Sample& sample);

  /// "1234 lines, 45 % of the input, 10.3 lines/s, 0:12:34 left". Without the parts that are not
  /// known.
  std::string Line() const;
  /// "[#########-----------] " and the same, shorter. Without the bar if the size is not known. Cut
  /// to `columns`.
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

}  // namespace scorecast::launcher
