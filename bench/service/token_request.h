#pragma once

#include <cstdint>

#include "bench/workload.h"
#include "proto/scorecast.pb.h"

namespace scorecast::bench {

/// A request for the probabilities of two labels, of token ids that follow from its number. The
/// vocabulary's last id, `vocab_size` - 1, is in none: it can be the delimiter.
v1::Request TokenRequest(const Workload& workload, std::uint64_t number, std::int64_t vocab_size);

}  // namespace scorecast::bench
