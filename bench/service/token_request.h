#pragma once

#include <cstdint>

#include "bench/workload.h"
#include "proto/scorecast.pb.h"

namespace scorecast::bench {

/// A request for the probabilities of two labels. Its token ids are a function of `number`. No
/// request has the last id of the vocabulary, `vocab_size` - 1.
v1::Request TokenRequest(const Workload& workload, std::uint64_t number, std::int64_t vocab_size);

}  // namespace scorecast::bench
