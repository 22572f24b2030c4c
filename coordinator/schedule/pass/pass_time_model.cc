#include "coordinator/schedule/pass/pass_time_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace scorecast::coordinator {
namespace {

// Indices of the coefficients.
enum : std::size_t { kBase, kFew, kRow, kKey, kRead, kLabel, kProduct, kTop, kDraw, kAdjusted };

/// A model of 0.5 billion parameters on two cores. What counts are the ratios: reading the weights
/// takes as long as computing about ten rows.
constexpr PassRates kTypical = {.overhead = 2e-2,
                                .row = 2e-3,
                                .key = 4e-7,
                                .read = 2e-4,
                                .label = 2e-8,
                                .product = 4e-7,
                                .top = 1e-6,
                                .draw = 1e-4,
                                .adjusted = 5e-8};
/// Work of which every rate takes a part.
constexpr PassWork kTypicalWork = {.rows = 512,
                                   .keys = 1 << 17,
                                   .reads = 8,
                                   .labels = 1024,
                                   .products = 64,
                                   .top = 32,
                                   .draws = 4,
                                   .adjusted = 256};

/// Reads return much if that takes more than this part of the time of the pass's rows, on a typical
/// machine. On others the parts differ by factors, but so do those of the reads of most requests.
constexpr double kMuchReturned = 1e-3;

/// Times are clamped to these, so that squares of their ratios are finite.
constexpr double kLeastSeconds = 1e-9;
constexpr double kMostSeconds = 1e6;

/// A pass counts half as much after 32 others, and never less than 1/64.
constexpr double kAgeing = 0.97857206208770009;  // 2 ^ (-1 / 32)
constexpr double kLeastWeight = 1.0 / 64;

/// For a normal distribution, the standard deviation over the median of absolute errors.
constexpr double kDeviationOfMedian = 1.4826;

/// A coefficient may well differ from its prior by 100 %. So the weight of the prior, relative to
/// that of a pass, is the variance of relative errors, but at least that of errors of 1 %.
constexpr double kLeastPriorWeight = 0.01 * 0.01;

/// Errors that exceed this many standard deviations count less.
constexpr double kHuber = 1.345;
/// Errors below this are always normal, because the clock and the model itself are not more exact.
constexpr double kLeastHuberError = 0.02;

/// A rate of the prior is at least this part of the typical one, on the same scale.
constexpr double kLeastPrior = 1e-3;

/// A coefficient never falls below this part of the prior's, so that no work is free. The prior is
/// first scaled down until it predicts no kept pass to take longer than it did. So at most this
/// part of the time of a kept pass is not fitted.
constexpr double kLeastPart = 0.05;

/// So that nothing is divided by 0 if the relative error is 1.
constexpr double kLeastAgreement = 1e-9;

/// The weights of a fit follow from the errors of the fit before.
constexpr int kFits = 2;

/// The overhead of larger passes is the product of this and the coefficients: their first kFewRows
/// rows count with the rate of the others, and the difference is overhead.
constexpr UnknownsVector kOverhead = {1, PassTimeModel::kFewRows, -PassTimeModel::kFewRows};
/// A value is certain if it is this many standard deviations below its estimate.
constexpr double kCertain = 2;

/// While the kept passes of more than kFewRows rows weigh less than this, a pass may have
/// kTriedRows.
constexpr double kEnoughTried = 1;
constexpr std::int64_t kTriedRows = 2 * PassTimeModel::kFewRows;

/// A smaller pass is less efficient than this.
constexpr double kEnoughRowsPerSecond = 0.95;

UnknownsVector CoefficientsOf(const PassRates& rates) {
  return {rates.overhead, rates.row,     rates.row, rates.key,  rates.read,
          rates.label,    rates.product, rates.top, rates.draw, rates.adjusted};
}

double Product(const UnknownsVector& a, const UnknownsVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double RelativeError(double predicted, double seconds) {
  return std::abs(predicted - seconds) / std::max(predicted, seconds);
}

}  // namespace

PassTimeModel::PassTimeModel(const PassRates& prior)
    : has_scale_(prior.overhead + prior.Seconds(kTypicalWork) > 0) {
  SetPrior(has_scale_ ? prior : kTypical);
}

void PassTimeModel::SetPrior(const PassRates& rates) {
  coefficients_ = CoefficientsOf(rates);
  const double scale = (rates.overhead + rates.Seconds(kTypicalWork)) /
                       (kTypical.overhead + kTypical.Seconds(kTypicalWork));
  prior_ = CoefficientsOf(kTypical);
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    prior_[i] = std::max(coefficients_[i], kLeastPrior * scale * prior_[i]);
  }
}

std::size_t PassTimeModel::KindOf(const PassWork& work) {
  const std::int64_t rows = work.rows;
  const std::size_t size = rows <= kFewRows        ? 0
                           : rows <= 8 * kFewRows  ? 1
                           : rows <= 64 * kFewRows ? 2
                                                   : 3;
  const double returned = kTypical.Seconds({.labels = work.labels,
                                            .products = work.products,
                                            .top = work.top,
                                            .draws = work.draws,
                                            .adjusted = work.adjusted});
  const bool is_much = returned > kMuchReturned * kTypical.Seconds({.rows = rows});
  return kKindsOfFewRows * size + (is_much ? 1 : 0);
}

UnknownsVector PassTimeModel::FeaturesOf(const PassWork& work) {
  const std::int64_t few = std::min(work.rows, kFewRows);
  return {1,
          static_cast<double>(few),
          static_cast<double>(work.rows - few),
          static_cast<double>(work.keys),
          static_cast<double>(work.reads),
          static_cast<double>(work.labels),
          static_cast<double>(work.products),
          static_cast<double>(work.top),
          static_cast<double>(work.draws),
          static_cast<double>(work.adjusted)};
}

double PassTimeModel::Predicted(const UnknownsVector& features) const {
  return Product(coefficients_, features);
}

void PassTimeModel::Observe(const PassWork& work, double seconds) {
  if (work.rows <= 0 || !std::isfinite(seconds) || seconds <= 0) {
    return;
  }
  seconds = std::clamp(seconds, kLeastSeconds, kMostSeconds);
  const UnknownsVector features = FeaturesOf(work);
  if (has_scale_) {
    errors_[predictions_++ % errors_.size()] = RelativeError(Predicted(features), seconds);
  } else {
    const double scale = seconds / Predicted(features);
    SetPrior(kTypical.Scaled(scale));
    has_scale_ = true;
  }
  for (Samples& of_kind : samples_) {
    for (Sample& sample : of_kind.last) {
      if (sample.weight > 0) {
        sample.weight = std::max(kAgeing * sample.weight, kLeastWeight);
      }
    }
  }
  Samples& of_kind = samples_[KindOf(work)];
  of_kind.last[of_kind.next++ % Samples::kKept] = {work, features, seconds, 1};
  for (int i = 0; i < kFits; ++i) {
    Fit();
  }
}

void PassTimeModel::Fit() {
  // The unknowns are multiples of `unit`, of which the prior is at most one. So the prior weighs
  // the same whatever the scale, and little if a coefficient is far above it, or if predictions are
  // far off.
  const double median_error = error();
  const double scale = 1 / (1 - median_error + kLeastAgreement);
  const double deviation = kDeviationOfMedian * median_error;
  const double prior_weight = std::max(deviation * deviation, kLeastPriorWeight);
  UnknownsVector unit{};
  UnknownsMatrix a{};
  UnknownsVector b{};
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    unit[i] = scale * std::max(prior_[i], coefficients_[i]);
    a[i][i] = prior_weight;
    b[i] = prior_weight * prior_[i] / unit[i];
  }
  const double most_error = std::max(kHuber * deviation, kLeastHuberError);
  double least_part_of_prior = std::numeric_limits<double>::infinity();
  for (const Samples& of_kind : samples_) {
    for (const Sample& sample : of_kind.last) {
      if (sample.weight == 0) {
        continue;
      }
      least_part_of_prior =
          std::min(least_part_of_prior, sample.seconds / Product(prior_, sample.features));
      const double predicted = Predicted(sample.features);
      const double relative_to = std::max(predicted, sample.seconds);
      const double error = RelativeError(predicted, sample.seconds);
      const double weight = sample.weight * (error > most_error ? most_error / error : 1.0);
      UnknownsVector row{};
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        row[i] = sample.features[i] * unit[i] / relative_to;
      }
      const double seconds = sample.seconds / relative_to;
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          a[i][j] += weight * row[i] * row[j];
        }
        b[i] += weight * row[i] * seconds;
      }
    }
  }
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    a[i][i] *= 1 + 1e-9;  // Positive definite also after rounding.
    for (std::size_t j = 0; j < i; ++j) {
      a[j][i] = a[i][j];
    }
  }
  UnknownsVector least{};
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    least[i] = kLeastPart * least_part_of_prior * prior_[i] / unit[i];
  }
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    b[i] -= Product(a[i], least);
  }
  const UnknownsVector x = NonnegativeMinimum(a, b);
  UnknownsVector overhead{};
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    coefficients_[i] = (least[i] + x[i]) * unit[i];
    overhead[i] = kOverhead[i] * unit[i];
  }
  // The covariance of the unknowns is the inverse of A, times the variance of relative errors.
  overhead_deviation_ =
      deviation * std::sqrt(std::max(Product(overhead, Minimum(a, overhead)), 0.0));
}

PassRates PassTimeModel::rates() const {
  return {.overhead = Product(kOverhead, coefficients_),
          .row = coefficients_[kRow],
          .key = coefficients_[kKey],
          .read = coefficients_[kRead],
          .label = coefficients_[kLabel],
          .product = coefficients_[kProduct],
          .top = coefficients_[kTop],
          .draw = coefficients_[kDraw],
          .adjusted = coefficients_[kAdjusted]};
}

double PassTimeModel::Seconds(const PassWork& work) const {
  return work.rows <= 0 ? 0 : Predicted(FeaturesOf(work));
}

double PassTimeModel::BoundedSeconds(double max_pass_seconds, std::int64_t max_rows) const {
  PassWork kept;
  double tried = 0;
  for (const Samples& of_kind : std::span(samples_).subspan(kKindsOfFewRows)) {
    for (const Sample& sample : of_kind.last) {
      kept += sample.work;
      tried += sample.weight;
    }
  }
  PassRates rates = this->rates();
  const double overhead = rates.overhead;
  rates.overhead = std::max(rates.overhead - kCertain * overhead_deviation_, 0.0);
  const double row =
      kept.rows == 0 ? rates.row : rates.Seconds(kept) / static_cast<double>(kept.rows);
  const bool is_observed = std::ranges::any_of(
      samples_, [](const Samples& of_kind) { return of_kind.last[0].weight > 0; });
  if (is_observed && tried < kEnoughTried) {
    max_pass_seconds = std::max(max_pass_seconds, overhead + static_cast<double>(kTriedRows) * row);
  }
  // A pass of n rows takes overhead + n * row. The part of it that is not overhead is its rows/s
  // relative to passes without overhead.
  const double largest = rates.overhead + static_cast<double>(max_rows) * row;
  if (rates.overhead == 0 || largest == 0) {
    return max_pass_seconds;
  }
  const double most_overhead = 1 - kEnoughRowsPerSecond * (1 - rates.overhead / largest);
  return std::max(max_pass_seconds, rates.overhead / most_overhead);
}

double PassTimeModel::error() const {
  std::array<double, std::tuple_size_v<decltype(errors_)>> sorted = errors_;
  const auto end =
      sorted.begin() + static_cast<std::ptrdiff_t>(std::min(predictions_, sorted.size()));
  if (end == sorted.begin()) {
    return 0;
  }
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

}  // namespace scorecast::coordinator
