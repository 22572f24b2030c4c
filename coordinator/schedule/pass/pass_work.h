#pragma once

#include <cstdint>
#include <limits>

namespace scorecast::coordinator {

/// What a pass computes, as far as its time depends on it.
struct PassWork {
  std::int64_t rows = 0;  ///< Computed rows.
  std::int64_t keys = 0;  ///< Keys that a row attends to, its own included, summed over these rows.
  std::int64_t reads = 0;  ///< Rows whose logits are read.
  // What the reads return: it is picked out, gathered from the ranks and merged.
  std::int64_t labels = 0;    ///< Labels of reads that compute the logits of the whole vocabulary.
  std::int64_t products = 0;  ///< Labels of other reads: each logit is a product of its own.
  std::int64_t top = 0;       ///< Best tokens.
  // What choosing tokens takes beyond that.
  std::int64_t draws = 0;     ///< Draws among all tokens, and sums of their masses.
  std::int64_t adjusted = 0;  ///< Tokens whose logits are changed, by penalties and biases.

  PassWork& operator+=(const PassWork& other) {
    rows += other.rows;
    keys += other.keys;
    reads += other.reads;
    labels += other.labels;
    products += other.products;
    top += other.top;
    draws += other.draws;
    adjusted += other.adjusted;
    return *this;
  }
  PassWork& operator-=(const PassWork& other) {
    rows -= other.rows;
    keys -= other.keys;
    reads -= other.reads;
    labels -= other.labels;
    products -= other.products;
    top -= other.top;
    draws -= other.draws;
    adjusted -= other.adjusted;
    return *this;
  }
  bool operator==(const PassWork&) const = default;
};

/// Seconds that work takes. A pass of more than a few rows takes `overhead + Seconds(work)`.
struct PassRates {
  double overhead = 0;  ///< What a pass takes beyond its work; may be negative.
  // Of one of each.
  double row = 0;
  double key = 0;
  double read = 0;
  double label = 0;
  double product = 0;
  double top = 0;
  double draw = 0;
  double adjusted = 0;

  PassRates Scaled(double factor) const {
    return {factor * overhead, factor * row, factor * key,  factor * read,    factor * label,
            factor * product,  factor * top, factor * draw, factor * adjusted};
  }
  double Seconds(const PassWork& work) const {
    return row * static_cast<double>(work.rows) + key * static_cast<double>(work.keys) +
           read * static_cast<double>(work.reads) + label * static_cast<double>(work.labels) +
           product * static_cast<double>(work.products) + top * static_cast<double>(work.top) +
           draw * static_cast<double>(work.draws) + adjusted * static_cast<double>(work.adjusted);
  }
};

/// What a pass may take beyond its overhead, and how that is predicted.
struct PassBudget {
  PassRates rates;
  double seconds = std::numeric_limits<double>::infinity();

  bool HasTimeFor(const PassWork& work) const { return rates.Seconds(work) <= seconds; }
};

}  // namespace scorecast::coordinator
