#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "coordinator/schedule/pass/nonnegative_minimum.h"
#include "coordinator/schedule/pass/pass_work.h"

namespace scorecast::coordinator {

/// Predicts the seconds of a pass, from those of earlier passes.
///
/// A pass takes `base + few * min(rows, 32) + row * max(rows - 32, 0) + key * keys + read * reads +
/// label * labels + product * products + top * top + draw * draws + adjusted * adjusted`: see
/// PassWork. (The first rows of a pass cost little, because the weights are read from memory once
/// for all of them.) The coefficients are positive. They are fitted by least squares to relative
/// errors, with Huber weights, so that a machine that was stopped for a while changes little. The
/// last passes of each size are kept, and passes whose reads return much are kept beside the
/// others, so that many passes of one kind do not push out what is known of the others. Older
/// passes count less. A coefficient that these passes do not determine stays at the prior's value.
///
/// A relative error is `|predicted - seconds| / max(predicted, seconds)`, so it is between 0 and 1.
///
/// All results are finite, and all but an overhead are at least 0. A copy is independent: a model
/// that has seen calibration passes is passed on by value. Takes constant memory and a few
/// microseconds a pass. Not safe for concurrent use.
class PassTimeModel {
 public:
  /// The first rows of a pass have a rate of their own.
  static constexpr std::int64_t kFewRows = 32;

  /// Without a prior, that of a typical model is used. It is scaled so that it predicts the first
  /// observation.
  PassTimeModel() : PassTimeModel(PassRates()) {}
  /// If all rates are 0, as without a prior.
  explicit PassTimeModel(const PassRates& prior);

  /// `seconds` is the time of a whole pass. A pass without rows, or a time that is not positive and
  /// finite, is ignored.
  void Observe(const PassWork& work, double seconds);

  /// Rates of passes of at least kFewRows rows. The overhead is what such a pass takes beyond that.
  /// It is negative if the first rows are cheaper than the others. (Without the sign, passes of
  /// kFewRows rows could seem so long that no larger one is ever tried.)
  PassRates rates() const;
  /// Time of a whole pass, of any size. 0 for no rows.
  double Seconds(const PassWork& work) const;
  /// Upper bound on the time of a pass: `max_pass_seconds`, or the time of the smallest pass that
  /// reaches 95 % of the rows/s of a pass of `max_rows` if that is longer. The keys and reads of a
  /// row are those of the kept passes of more than kFewRows rows. Counts only as much overhead as
  /// is certain, because the second time is about 20 times the overhead, and so are its errors.
  /// If nearly all passes have been of up to kFewRows rows, one of twice as many may be formed, so
  /// that it is seen what more rows cost. That is about every 32nd pass.
  double BoundedSeconds(double max_pass_seconds, std::int64_t max_rows) const;
  /// Median of the relative errors of the last passes' predictions, each made before the pass. 0 at
  /// first.
  double error() const;

 private:
  struct Sample {
    PassWork work;
    UnknownsVector features{};
    double seconds = 0;
    double weight = 0;  ///< By its age; 0: no pass is kept here yet.
  };
  /// The last passes of one kind.
  struct Samples {
    static constexpr std::size_t kKept = 24;
    std::array<Sample, kKept> last;
    std::size_t next = 0;
  };

  /// Up to 32 rows, 256, 2048, and more; of each, passes whose reads return little, and much.
  static constexpr std::size_t kKinds = 8;
  /// Those of up to 32 rows come first.
  static constexpr std::size_t kKindsOfFewRows = 2;
  static std::size_t KindOf(const PassWork& work);
  static UnknownsVector FeaturesOf(const PassWork& work);

  double Predicted(const UnknownsVector& features) const;
  void SetPrior(const PassRates& rates);
  void Fit();

  bool has_scale_ = false;
  // In the order of FeaturesOf.
  UnknownsVector prior_{};
  UnknownsVector coefficients_{};
  double overhead_deviation_ = 0;  ///< Standard deviation of rates().overhead.
  std::array<Samples, kKinds> samples_;
  std::array<double, 32> errors_{};  ///< Relative errors of the last predictions.
  std::size_t predictions_ = 0;
};

}  // namespace scorecast::coordinator
