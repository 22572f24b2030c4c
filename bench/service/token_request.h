#pragma once

#include <cstdint>
#include <string>

#include "bench/workload.h"
#include "proto/scorecast.pb.h"

namespace scorecast::bench {

/// A request for the probabilities of two labels. Its token ids are a function of `number`.
v1::Request TokenRequest(const Workload& workload, std::uint64_t number, std::int64_t vocab_size);

/// The same request as the JSON body of /v1/score.
std::string JsonBody(const v1::Request& request);

}  // namespace scorecast::bench
