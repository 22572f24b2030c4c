#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/client/client_command.h"

namespace scorecast::launcher {

struct RerankFlags : ClientFlags {
  std::string query;
  std::vector<std::string> documents;
  std::string documents_file;  ///< Further documents, a line each. "-": standard input.
  std::optional<std::string> instruction;
  std::int64_t top_n = 0;
  std::int64_t max_tokens_per_doc = 0;
  bool raw_scores = false;
};

/// Sends one request. Prints the documents, best first, each on a line with its score and a bar, or
/// prints the whole response as JSON. Returns 0. If the server refused the request, prints the
/// error to standard error and returns 1. Throws std::runtime_error if no reply comes in time, or
/// if the file of documents cannot be read.
int RunRerankCommand(const RerankFlags& flags);

}  // namespace scorecast::launcher
