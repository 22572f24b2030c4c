#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/request/server_options.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// Facts that a service tells about itself. They never change while it runs.
struct ServiceFacts {
  const proto::ModelConfig& config;
  const ServerOptions& options;
  std::string dtype;    ///< That of matrix products: "f32", "bf16" or "int8".
  std::string version;  ///< Version of scorecast.
  std::size_t max_queue = 0;
  std::int64_t max_batch_tokens = 0;
  int tokenizing_threads = 0;
};

}  // namespace scorecast::coordinator
