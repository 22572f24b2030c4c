#include "coordinator/status/service_status.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Count;

constexpr double kLeastShownMs = 0.05;  // Less is rounded to 0.0.
/// A rank that computed for less time does not lag.
constexpr double kLeastSeconds = 1;
/// If a model's heads cannot be divided evenly, ranks differ, but seldom by more than this.
constexpr double kLagFactor = 1.25;

std::string MegaBytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB", static_cast<double>(bytes) * 1e-6);
  return text;
}

std::string NameOf(std::size_t rank, const proto::RankStatus& status) {
  return "rank " + std::to_string(rank) + " (host " + status.host + ")";
}

std::string LineOf(std::size_t rank, const proto::RankStatus& status) {
  std::string line =
      "status: " + NameOf(rank, status) + ": " + std::string(proto::Name(status.state));
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

std::optional<std::string> LaggingRank(const proto::ClusterStatus& before,
                                       const proto::ClusterStatus& now) {
  const std::size_t num_ranks = now.ranks.size();
  if (num_ranks < 2 || before.ranks.size() != num_ranks) {
    return std::nullopt;
  }
  std::vector<double> seconds(num_ranks);
  double sum = 0;
  std::size_t slowest = 0;
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    seconds[rank] = now.ranks[rank].work.compute_seconds - before.ranks[rank].work.compute_seconds;
    sum += seconds[rank];
    slowest = seconds[rank] > seconds[slowest] ? rank : slowest;
  }
  const double others = (sum - seconds[slowest]) / static_cast<double>(num_ranks - 1);
  if (seconds[slowest] < kLeastSeconds || seconds[slowest] < kLagFactor * others || others <= 0) {
    return std::nullopt;
  }
  return NameOf(slowest, now.ranks[slowest]) + " is the slowest: it computed " +
         std::to_string(std::lround((seconds[slowest] / others - 1) * 100)) +
         " % longer than the others on average, which waited for it";
}

std::vector<std::string> LinesOf(const ServiceStatus& status, const proto::ClusterStatus& before) {
  std::vector<std::string> lines = {LineOf(status.scheduler), PredictionLineOf(status.scheduler)};
  if (status.clients) {
    lines.push_back(LineOf(*status.clients));
  }
  std::size_t rank = 0;
  for (const proto::RankStatus& of_rank : status.cluster.ranks) {
    lines.push_back(LineOf(rank++, of_rank));
  }
  if (const std::optional<std::string> lagging = LaggingRank(before, status.cluster)) {
    lines.push_back("status: " + *lagging);
  }
  return lines;
}

}  // namespace scorecast::coordinator
