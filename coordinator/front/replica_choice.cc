#include "coordinator/front/replica_choice.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// What remains of the weight of earlier requests with each new one.
constexpr double kKept = 0.98;

}  // namespace

void TimePerByte::Learn(std::size_t bytes, double seconds) {
  bytes_ = kKept * bytes_ + static_cast<double>(std::max<std::size_t>(bytes, 1));
  seconds_ = kKept * seconds_ + seconds;
}

double TimePerByte::Seconds(std::size_t bytes) const {
  return static_cast<double>(bytes) * seconds_ / bytes_;
}

std::optional<ChosenReplica> ChooseReplica(std::span<const ReplicaLoad* const> replicas,
                                           const RequestBody& body, const TimePerByte& time) {
  std::optional<ChosenReplica> best;
  std::pair<double, std::size_t> best_end;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const ReplicaLoad* const load = replicas[i];
    if (load == nullptr || !load->is_usable()) {
      continue;
    }
    const std::size_t known = std::min(load->pieces().KnownBytes(body.pieces), body.bytes);
    const double seconds = time.Seconds(body.bytes - known);
    const std::pair end(load->wait_seconds() + seconds, load->waiting() + load->running());
    if (!best || end < best_end) {
      best = ChosenReplica{i, seconds};
      best_end = end;
    }
  }
  return best;
}

}  // namespace scorecast::coordinator
