#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/front/replica_groups.h"
#include "coordinator/front/replicas.h"
#include "coordinator/transports/batch/run_state.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// What the replicas that compute a batch have in common.
struct RunReplicas {
  ReplicaFacts facts;
  std::int64_t max_request_bytes = 0;
  std::int64_t max_values = 0;  ///< See ParseJson.
};

/// The replicas that a batch is to be computed by: those of the only model. Nothing while none is
/// there, or one in the list has yet to say what it is. The error says that there are several
/// models.
proto::Expected<std::optional<RunReplicas>, std::string> FindRunReplicas(const Replicas& replicas);

/// Everything besides the input on which the records depend: see RunSettings.
RunSettings RunSettingsOf(const ReplicaFacts& facts);

}  // namespace scorecast::coordinator
