#include "coordinator/status/service_status.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Count;

constexpr double kLeastShownMs = 0.05;  // Less is rounded to 0.0.

std::string MegaBytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB", static_cast<double>(bytes) * 1e-6);
  return text;
}

std::string LineOf(int rank, const proto::RankStatus& status) {
  std::string line = "status: rank " + std::to_string(rank) + " (host " + status.host +
                     "): " + std::string(proto::Name(status.state));
  if (status.pass > 0) {
    line += ", pass " + std::to_string(status.pass) + ", step " + std::to_string(status.step);
  }
  if (status.cpu_share) {
    line += ", " + std::to_string(std::lround(*status.cpu_share * 100)) + " % of a CPU";
  }
  char heard[64];
  std::snprintf(heard, sizeof(heard), ", heard %.1f s ago", status.seconds_since_heard);
  return line + heard;
}

std::string LineOf(const SchedulerStatus& status) {
  return "status: " + Count(status.passes, "pass", "passes") + " done, the last of " +
         Count(status.last_pass_rows, "row") + "; queue: " + Count(status.waiting_jobs, "request") +
         ", " + Count(status.waiting_tokens, "token") + ", " +
         Count(status.running_completions, "running completion") + "; " + MegaBytes(status.bytes) +
         " held; cache: " + Count(status.cache.cached_pages, "page") + ", " +
         std::to_string(status.cache.hit_tokens) + " of " +
         Count(status.cache.asked_tokens, "token") + " found";
}

std::string PredictionLineOf(const SchedulerStatus& status) {
  char text[128];
  std::snprintf(text, sizeof(text), "; predictions are off by %.0f %%; %.2f s of work wait",
                100 * status.pass_times.error, status.predicted_seconds);
  return "status: " + TextOf(status.pass_times) + text;
}

std::string LineOf(const ClientsStatus& status) {
  std::string line = "status: " + Count(status.connections, "connection") + " from " +
                     Count(status.addresses, "address", "addresses") + ", " +
                     Count(status.requests_in_flight, "request") + " in flight; " +
                     MegaBytes(status.held_request_bytes) + " of requests and " +
                     MegaBytes(status.held_reply_bytes) + " of replies held; refused:";
  if (status.refusals.empty()) {
    return line + " none";
  }
  for (const auto& [reason, count] : status.refusals) {
    line += " " + reason + " " + std::to_string(count);
  }
  return line;
}

}  // namespace

std::string TextOf(const PassTimes& times) {
  const std::string bound =
      std::isfinite(times.bound_seconds)
          ? "bound " + std::to_string(std::lround(1000 * times.bound_seconds)) + " ms"
          : "no bound";
  char rate[64];
  std::snprintf(rate, sizeof(rate), "%.0f rows/s, ", times.rates.row > 0 ? 1 / times.rates.row : 0);
  // The overhead is negative if the first rows take less than the others.
  const double overhead_ms = 1000 * times.rates.overhead;
  char overhead[64] = "no overhead a pass, ";
  if (overhead_ms >= kLeastShownMs) {
    std::snprintf(overhead, sizeof(overhead), "%.1f ms of overhead a pass, ", overhead_ms);
  }
  return std::string(rate) + overhead + bound;
}

std::vector<std::string> LinesOf(const ServiceStatus& status) {
  std::vector<std::string> lines = {LineOf(status.scheduler), PredictionLineOf(status.scheduler)};
  if (status.clients) {
    lines.push_back(LineOf(*status.clients));
  }
  int rank = 0;
  for (const proto::RankStatus& of_rank : status.cluster.ranks) {
    lines.push_back(LineOf(rank++, of_rank));
  }
  return lines;
}

}  // namespace scorecast::coordinator
