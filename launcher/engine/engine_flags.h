#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/embeddings/embedder.h"
#include "coordinator/request/server_options.h"
#include "proto/model/ignored_key.h"
#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/kernels/kernels.h"
#include "shard/worker/watchdog.h"

namespace scorecast::launcher {

/// Flags of every command that starts an engine. docs/requests.md documents them.
struct EngineFlags {
  std::filesystem::path model;
  std::string served_model_name;     ///< Empty: the directory's name.
  std::string task = "auto";         ///< One of proto::kTaskNames.
  std::string delimiter;             ///< As given: an id or text. Empty if there is none.
  std::string rerank_template;       ///< A name or a file; empty: what the model directory says.
  std::string decision_template;     ///< The same.
  std::string chat_template;         ///< A file; empty: what the model directory says.
  std::vector<std::string> prompts;  ///< Of an embedding model, each NAME=TEXT.
  std::vector<std::string> ignored_keys;  ///< Each FILE:KEY.
  bool reads_generation_config = true;    ///< See ServerOptions::generation.
  coordinator::ServerOptions server;  ///< Delimiter, model's name and reranker: set by the engine.
  std::int64_t max_request_bytes = coordinator::kDefaultMaxRequestBytes;
  std::int64_t max_batch_tokens = 8192;
  /// In MiB on the rank with the most K/V heads. 0: off. Unset: depends on the host's memory.
  std::optional<std::int64_t> kv_cache_mb;
  int threads = 0;  ///< 0: this rank's share of the CPUs (RankShare).
  std::string dtype = "auto";
  std::string kernel = "auto";
  bool rank_invariant = false;
  shard::WatchLimits watch;
  std::string log_level = "info";

  proto::Sharding sharding() const {
    return rank_invariant ? proto::Sharding::kInBlocks : proto::Sharding::kEven;
  }
  /// Like ServerOptions::has_sglang_rules, but also valid before the engine has set
  /// `server.delimiter`.
  bool has_sglang_rules() const { return server.enable_mis || !delimiter.empty(); }
};

/// All texts of --prompt, quoted; "(absent)" if there is none.
std::string PromptsText(const EngineFlags& flags);

/// The same for --ignore-config-key.
std::string IgnoredKeysText(const EngineFlags& flags);

/// The keys that --ignore-config-key names. Throws StartupError if a text is not FILE:KEY.
std::vector<proto::IgnoredKey> IgnoredKeysOf(const EngineFlags& flags);

/// What requests for embeddings depend on; nothing if the model is not an embedding model. Throws
/// StartupError as LoadEmbedder does, and if --prompt is given for another model.
coordinator::Embedder EmbedderFromFlags(const EngineFlags& flags, const proto::ModelConfig& config);

/// Throws StartupError if flags contradict each other.
void CheckEngineFlags(const EngineFlags& flags);

/// The task that --task names.
proto::Task TaskFromFlag(const std::string& task);

/// Values of --kernel: "auto" and the names of the kernel sets.
std::vector<std::string> KernelNames();

/// The features of this CPU that kernels and libraries may use. If --kernel names a kernel set,
/// these are the features that the set needs. For "auto", and for the first set of the table, these
/// are all features. Throws StartupError if `features`, the features of this CPU, lack any of them.
shard::CpuFeatures FeaturesFromFlag(const std::string& kernel,
                                    shard::CpuFeatures features = shard::DetectCpuFeatures());

}  // namespace scorecast::launcher
