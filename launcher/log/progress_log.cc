#include "launcher/log/progress_log.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <unistd.h>

#include "coordinator/status/service_status.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

constexpr std::chrono::seconds kLineInterval{10};
constexpr std::chrono::milliseconds kBarInterval{500};

bool MayDraw() { return isatty(STDERR_FILENO) == 1 && proto::ShouldLog(proto::LogLevel::kInfo); }

}  // namespace

ProgressLog::ProgressLog(const coordinator::BatchProgress& progress, std::int64_t begin,
                         std::optional<std::int64_t> size,
                         std::function<proto::ClusterStatus()> cluster_status)
    : progress_(progress),
      begin_(begin),
      cluster_status_(std::move(cluster_status)),
      has_bar_(MayDraw()),
      text_(size),
      last_status_(cluster_status_ ? cluster_status_() : proto::ClusterStatus()) {
  if (has_bar_) {
    // The cursor stays at the start of the bar, so that a line of the log replaces it.
    proto::EraseTerminalLine(true);
  }
  // Sampled here, because the thread may begin to run only after the first records.
  Sample();
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

ProgressLog::~ProgressLog() {
  thread_.request_stop();
  thread_.join();
  if (has_bar_) {
    EraseBar();
    proto::EraseTerminalLine(false);
  }
}

void ProgressLog::Run(const std::stop_token& stop) {
  const std::chrono::milliseconds interval = has_bar_ ? kBarInterval : kLineInterval;
  auto next_line = ProgressText::Clock::now() + kLineInterval;
  while (true) {
    if (has_bar_) {
      DrawBar(text_);
    }
    std::unique_lock lock(mutex_);
    if (stopped_.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
      return;
    }
    Sample();
    if (ProgressText::Clock::now() >= next_line) {
      next_line += kLineInterval;
      LogLine();
    }
  }
}

void ProgressLog::Sample() {
  text_.Add(
      {ProgressText::Clock::now(), progress_.records(), std::max(begin_, progress_.position())});
}

void ProgressLog::LogLine() {
  if (!has_bar_) {
    proto::LogInfo("progress: {}", text_.Line());
  }
  if (!cluster_status_) {
    return;
  }
  proto::ClusterStatus status = cluster_status_();
  if (const auto lagging = coordinator::LaggingRank(last_status_, status)) {
    proto::LogInfo("progress: {}", *lagging);
  }
  last_status_ = std::move(status);
}

}  // namespace scorecast::launcher
