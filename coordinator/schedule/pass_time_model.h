#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "coordinator/schedule/pass_work.h"

namespace scorecast::coordinator {

/// Predicts the seconds of a pass, from those of earlier passes.
///
/// A pass takes `overhead + few * min(rows, 32) + row * max(rows - 32, 0) + key * keys + read *
/// reads`. (The first rows of a pass cost little, because the weights are read from memory once for
/// all of them.) The coefficients are at least 0. They are fitted by least squares to relative
/// errors, with Huber weights, so that a stopped machine does not count. Only recent passes of each
/// size are kept, so that many passes of one size do not push out what is known of the others. A
/// coefficient that they do not determine stays at the prior's.
///
/// All results are finite and at least 0. A copy is independent: a model that has seen calibration
/// passes is passed on by value. Takes constant memory and a few microseconds a pass. Not safe for
/// concurrent use.
class PassTimeModel {
 public:
  /// Passes of at most this many rows have a rate of their own.
  static constexpr std::int64_t kFewRows = 32;

  /// Without a prior, typical ratios between the rates are the prior. Their scale follows from the
  /// first observation.
  explicit PassTimeModel(std::optional<PassRates> prior = std::nullopt);

  /// `seconds` is the time of a whole pass. A pass without rows, or a time that is not positive and
  /// finite, is ignored.
  void Observe(const PassWork& work, double seconds);

  /// Rates of passes of more than kFewRows rows.
  PassRates rates() const;
  /// Time of a whole pass, of any size. 0 for no rows.
  double Seconds(const PassWork& work) const;
  /// Upper bound on the time of a pass: `max_pass_seconds`, or the time of the smallest pass that
  /// reaches 95 % of the rows/s of a pass of `max_rows` if that is longer. The keys and reads of a
  /// row are those of recent passes.
  double BoundedSeconds(double max_pass_seconds, std::int64_t max_rows) const;
  /// Median of the relative errors of recent passes' predictions, each made before the pass. 0 at
  /// first.
  double error() const;
};

}  // namespace scorecast::coordinator
