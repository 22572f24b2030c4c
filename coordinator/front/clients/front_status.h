#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coordinator/front/forwarder.h"

namespace scorecast::coordinator {

/// What a front knows of a replica that is listed.
struct ReplicaStatus {
  std::string name;
  std::string model;  ///< Empty if it is not connected.
  bool is_connected = false;
  bool is_ready =
      false;  ///< It gets requests: it can be used, and is like the others of its model.
  bool is_drained = false;  ///< It gets no requests, because somebody has said so.
  double wait_seconds = 0;  ///< Predicted, of the work that waits there.
  std::size_t in_flight = 0;
  std::uint64_t losses = 0;   ///< See Replicas::LossesOf.
  bool is_set_aside = false;  ///< See Replicas::SetAside.
  std::uint64_t bad_replies = 0;
};

/// A front at one moment.
struct FrontStatus {
  std::vector<ReplicaStatus> replicas;            ///< In the order of their names.
  std::vector<std::string> models;                ///< Of which replicas are there.
  std::map<std::string, WaitingInFront> waiting;  ///< In the front, by model.
  std::size_t in_flight = 0;                      ///< Requests whose replies have not ended.

  bool is_ready() const {
    for (const ReplicaStatus& replica : replicas) {
      if (replica.is_ready) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace scorecast::coordinator
