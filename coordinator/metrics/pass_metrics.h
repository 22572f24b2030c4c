#pragma once

#include "coordinator/metrics/families.h"
#include "coordinator/metrics/histogram.h"
#include "coordinator/schedule/queue/scheduler.h"

namespace scorecast::coordinator {

/// Sizes and times of passes.
class PassMetrics {
 public:
  PassMetrics();

  /// Called on the computing thread, so it takes no lock.
  void OnPass(const PassSummary& pass);
  Families Collect() const;
  /// Time of all passes.
  double seconds() const { return seconds_.sum(); }

 private:
  Histogram rows_;
  Histogram sequences_;
  Histogram seconds_;
};

}  // namespace scorecast::coordinator
