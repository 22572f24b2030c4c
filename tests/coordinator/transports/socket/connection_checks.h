#pragma once

#include <cstdint>
#include <string>

#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

void ExpectError(const v1::Response& response, std::uint64_t request_id, int code,
                 const std::string& reason);

/// Requests 0 to 19 are made by `numbered`; `fault` is number 20, which lacks a field.
void ExpectDropsWhatALeavingClientWaitsFor(v1::Request (*numbered)(std::uint64_t),
                                           const v1::Request& fault);

}  // namespace scorecast::coordinator
