#pragma once

#include <cstdint>
#include <limits>

namespace scorecast::coordinator {

/// What a pass computes, as far as its time depends on it.
struct PassWork {
  std::int64_t rows = 0;  ///< Computed rows.
  std::int64_t keys = 0;  ///< Keys that a row attends to, its own included, summed over these rows.
  std::int64_t reads = 0;  ///< Rows whose logits are read.

  PassWork& operator+=(const PassWork& other) {
    rows += other.rows;
    keys += other.keys;
    reads += other.reads;
    return *this;
  }
  PassWork& operator-=(const PassWork& other) {
    rows -= other.rows;
    keys -= other.keys;
    reads -= other.reads;
    return *this;
  }
  bool operator==(const PassWork&) const = default;
};

/// Seconds that work takes. A pass of more than a few rows takes `overhead + Seconds(work)`.
struct PassRates {
  double overhead = 0;  ///< What a pass takes beyond its rows, keys and reads; may be negative.
  double row = 0;
  double key = 0;
  double read = 0;

  double Seconds(const PassWork& work) const {
    return row * static_cast<double>(work.rows) + key * static_cast<double>(work.keys) +
           read * static_cast<double>(work.reads);
  }
};

/// What a pass may take beyond its overhead, and how that is predicted.
struct PassBudget {
  PassRates rates;
  double seconds = std::numeric_limits<double>::infinity();

  bool HasTimeFor(const PassWork& work) const { return rates.Seconds(work) <= seconds; }
};

}  // namespace scorecast::coordinator
