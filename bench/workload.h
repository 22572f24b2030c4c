#pragma once

#include <cstdint>
#include <vector>

#include "proto/plan/packed_sequence.h"

namespace CLI {
class App;
}

namespace scorecast::bench {

/// A request: a query and items of equal length, or texts for a model that pools each of them.
struct Workload {
  std::int64_t query_tokens = 300;
  std::int64_t items = 10;
  std::int64_t item_tokens = 10;
  std::vector<std::int64_t> texts;  ///< Lengths. If there are any, nothing else is computed.
};

/// --query-tokens, --items and --item-tokens. The defaults are those of `workload`.
void AddWorkloadFlags(CLI::App& app, Workload& workload);

/// `count` ids below `vocab_size`. Other seeds give other ids.
std::vector<proto::TokenId> Tokens(std::int64_t count, std::int64_t seed, std::int64_t vocab_size);

}  // namespace scorecast::bench
