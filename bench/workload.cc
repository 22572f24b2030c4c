#include "bench/workload.h"

#include <CLI/CLI.hpp>

namespace scorecast::bench {

void AddWorkloadFlags(CLI::App& app, Workload& workload) {
  app.add_option("--query-tokens", workload.query_tokens, "Tokens of the query")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  app.add_option("--items", workload.items, "Items of the request")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  app.add_option("--item-tokens", workload.item_tokens, "Tokens of each item")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

std::vector<proto::TokenId> Tokens(std::int64_t count, std::int64_t seed, std::int64_t vocab_size) {
  std::vector<proto::TokenId> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<proto::TokenId>((seed * 7919 + i * 104729 + 11) % vocab_size));
  }
  return tokens;
}

}  // namespace scorecast::bench
