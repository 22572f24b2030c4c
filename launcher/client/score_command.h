#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/client/client_command.h"

namespace scorecast::launcher {

struct ScoreFlags : ClientFlags {
  std::string query;
  std::vector<std::string> items;
  std::vector<std::string> labels;
  std::vector<std::int32_t> label_token_ids;
  bool apply_softmax = false;
  std::optional<std::string> activation;
  bool item_first = false;
  double temperature = 1.0;
  bool return_token_logprobs = false;
  std::int64_t top_logprobs = 0;
};

/// Sends one request of text. Prints one line per item with its scores, or the whole response as
/// JSON. Returns 0. If the server refused the request, prints the error to standard error and
/// returns 1. Throws std::runtime_error if no reply comes in time.
int RunScoreCommand(const ScoreFlags& flags);

}  // namespace scorecast::launcher
