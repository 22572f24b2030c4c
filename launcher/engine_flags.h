#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "coordinator/request/server_options.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/precision.h"

namespace scorecast::launcher {

/// The flags that every command with an engine shares. Names are those of docs/requests.md.
struct EngineFlags {
  std::filesystem::path model;
  std::string delimiter;  ///< As given: an id or text; empty where multi-item mode is off.
  coordinator::ServerOptions score;  ///< `delimiter` and `model_name` are set by the engine.
  std::int64_t max_request_bytes = coordinator::kDefaultMaxRequestBytes;
  std::int64_t max_batch_tokens = 8192;
  std::optional<std::int64_t> kv_cache_mb;  ///< MiB a rank; 0: off; none: by the host's memory.
  int threads = 0;  ///< 0: this rank's share of the CPUs that it may run on.
  std::string dtype = "auto";
  std::string kernel = "auto";
  std::string log_level = "info";
};

void AddEngineFlags(CLI::App& app, EngineFlags& flags);

/// The instruction set that --kernel names, or the best of this CPU. StartupError where this CPU
/// does not have it.
shard::InstructionSet InstructionSetFromFlag(const std::string& kernel);

/// The precision that --dtype names; none for auto.
std::optional<shard::Precision> PrecisionFromFlag(const std::string& dtype);

/// Threads that this rank works with when --threads does not say: the CPUs that it may run on,
/// shared with the other ranks of this host where they may run on the same.
int DefaultThreads(int ranks_on_this_host);

}  // namespace scorecast::launcher
