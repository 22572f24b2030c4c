#include "launcher/log/lagging_rank.h"

#include <cstddef>
#include <vector>

#include <spdlog/fmt/fmt.h>

namespace scorecast::launcher {
namespace {

constexpr double kLeastSeconds = 1;
/// If a model's heads cannot be divided evenly, ranks differ, but seldom by more than this.
constexpr double kLagFactor = 1.25;

}  // namespace

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
  return fmt::format(
      "rank {} (host {}) is the slowest: it computed {:.0f} % longer than the others on average, "
      "which waited for it",
      slowest, now.ranks[slowest].host, (seconds[slowest] / others - 1) * 100);
}

}  // namespace scorecast::launcher
