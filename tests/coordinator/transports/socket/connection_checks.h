#pragma once

#include <cstdint>
#include <string>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

void ExpectError(const v1::Response& response, std::uint64_t request_id, int code,
                 const std::string& reason);

/// Checks that the queued requests of a client that leaves are dropped. `numbered` makes requests 0
/// to 19; `fault` is request 20, which lacks a field.
void ExpectRequestsOfALeavingClientDropped(v1::Request (*numbered)(std::uint64_t),
                                           const v1::Request& fault);

}  // namespace scorecast::coordinator
