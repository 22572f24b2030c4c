#pragma once

#include "coordinator/schedule/pass/pass_work.h"
#include "launcher/cost/layout.h"
#include "proto/model/model_config.h"
#include "shard/linear/precision.h"

namespace scorecast::launcher {

/// What ranks exchange in a pass: docs/exchange.md.
struct Wire {
  /// Calls in which all ranks wait for each other: two for each of a layer's two sums.
  double exchanges = 0;
  double messages = 0;  ///< Messages that a rank sends in them; 0 on one host.
  double host_bytes =
      0;  ///< Bytes of rows that a host sends: the mean over hosts. Without headers.
};

Wire WireOf(const proto::ModelConfig& config, shard::Precision precision, const Layout& layout,
            const coordinator::PassWork& work);

}  // namespace scorecast::launcher
