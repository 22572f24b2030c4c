#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "coordinator/transports/batch/batch_progress.h"
#include "launcher/log/progress_text.h"
#include "proto/plan/cluster_status.h"

namespace scorecast::launcher {

/// Shows the progress of a batch: with a bar if standard error is a terminal, otherwise with a line
/// of the log every ten seconds, both at level info. Every ten seconds it also names the slowest
/// rank, if one lags. It must be made before the run begins, so that the rate counts every record.
class ProgressLog {
 public:
  /// `begin` is the position in the input at which the run begins, and `size` is the input's size,
  /// if it is known. `progress` and everything that `cluster_status` uses must outlive the object.
  /// `cluster_status` is called on a thread of the object; empty if there are no ranks.
  ProgressLog(const coordinator::BatchProgress& progress, std::int64_t begin,
              std::optional<std::int64_t> size,
              std::function<proto::ClusterStatus()> cluster_status);
  /// Erases the bar.
  ~ProgressLog();
  ProgressLog(const ProgressLog&) = delete;
  ProgressLog& operator=(const ProgressLog&) = delete;

 private:
  void Run(const std::stop_token& stop);
  void Sample();
  void LogLine();

  const coordinator::BatchProgress& progress_;
  const std::int64_t begin_;
  const std::function<proto::ClusterStatus()> cluster_status_;
  const bool has_bar_;
  ProgressText text_;
  proto::ClusterStatus last_status_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace scorecast::launcher
