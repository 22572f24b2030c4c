#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/scorecast.pb.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

/// Multi-item mode with 7 as the delimiter, for the requests below, on a model without a tokenizer.
BatchCommand NumberedCommand(int ranks, const std::vector<std::string>& more_flags = {});

/// A small request whose content follows from its number.
nlohmann::json NumberedBody(std::uint64_t number);
/// 0 … count - 1.
std::vector<nlohmann::json> NumberedBodies(std::uint64_t count);
/// The body as a message, with the number as its request_id.
v1::Request NumberedRequest(std::uint64_t number);

/// A request of 100 items, by default of some 6000 tokens, so that whatever comes after it waits.
nlohmann::json HeavyBody(std::size_t item_length = 60);
v1::Request HeavyRequest(std::uint64_t request_id, std::size_t item_length = 60);

using Scores = std::vector<std::vector<double>>;
Scores ScoresOf(const v1::Response& response);

}  // namespace scorecast::testing
