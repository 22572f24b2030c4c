#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "coordinator/front/body_pieces.h"
#include "coordinator/front/replica_load.h"

namespace scorecast::coordinator {

/// How long requests take for each byte of their bodies: a running mean over the latest ones, in
/// which a request weighs as much as it has bytes.
class TimePerByte {
 public:
  void Learn(std::size_t bytes, double seconds);
  double Seconds(std::size_t bytes) const;

 private:
  // What the means begin with: a kilobyte in ten milliseconds, soon outweighed.
  double bytes_ = 1000;
  double seconds_ = 0.01;
};

/// A request, as far as the choice of its replica depends on it.
struct RequestBody {
  std::size_t bytes = 0;
  std::span<const BodyPiece> pieces = {};
};

struct ChosenReplica {
  std::size_t index = 0;
  double seconds = 0;  ///< Predicted for the request itself.
};

/// The replica where the request is predicted to end first: the wait there, and the request's own
/// time without what was sent there before and may be cached. If several are equal, the one with
/// the fewest requests, then the first. Nothing if none can be used. Null stands for one that is
/// left out. A wrong guess costs time, and never changes a response.
std::optional<ChosenReplica> ChooseReplica(std::span<const ReplicaLoad* const> replicas,
                                           const RequestBody& body, const TimePerByte& time);

}  // namespace scorecast::coordinator
