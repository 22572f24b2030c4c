#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/scorecast.pb.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

/// A command for the requests below: multi-item mode with delimiter 7, a model without a tokenizer.
BatchCommand NumberedCommand(int ranks, const std::vector<std::string>& more_flags = {});

/// A small request. Its content is a function of `number`.
nlohmann::json NumberedBody(std::uint64_t number);
/// The bodies of 0 … count - 1.
std::vector<nlohmann::json> NumberedBodies(std::uint64_t count);
/// The body as a message, with the number as its request_id.
v1::Request NumberedRequest(std::uint64_t number);

/// A request of 100 items, by default about 6000 tokens, so that requests after it have to wait.
nlohmann::json HeavyBody(std::size_t item_length = 60);
v1::Request HeavyRequest(std::uint64_t request_id, std::size_t item_length = 60);

using Scores = std::vector<std::vector<double>>;
Scores ScoresOf(const v1::Response& response);

}  // namespace scorecast::testing
