#pragma once

#include <spdlog/spdlog.h>

#include "coordinator/endpoints/chunked/chunked_service.h"
#include "coordinator/endpoints/json_doors.h"
#include "coordinator/endpoints/score/score_service.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {

/// All of a server but its engine, with delimiter 256 ("<d>"), labels " yes" and " no", and BOS
/// 259.
struct FakeServer {
  static constexpr std::int64_t kVocabSize = 300;

  static proto::ModelConfig Config() {
    proto::ModelConfig config;
    config.vocab_size = kVocabSize;
    config.max_position_embeddings = 512;
    return config;
  }
  static ScoreOptions MultiItem() {
    ScoreOptions options;
    options.delimiter = 256;
    options.chunks.enable_chunk_aware = true;
    return options;
  }

  explicit FakeServer(const ScoreOptions& score_options = MultiItem(),
                      const SchedulerOptions& scheduler_options = {})
      : options(score_options), scheduler(cluster, scheduler_options) {}

  /// Made before any thread logs: how libspdlog keeps its making apart ThreadSanitizer cannot see.
  spdlog::logger* const logger = spdlog::default_logger_raw();
  const proto::ModelConfig config = Config();
  const ScoreOptions options;
  HoldingTokenizer tokenizer{{{"<d>", 256}, {" yes", 257}, {" no", 258}}, 259};
  FakeCluster cluster{
      {.max_rows = 64, .max_reads = 160, .pass_kv_rows = 4096, .kept_kv_rows = 8192}, kVocabSize};
  Scheduler scheduler;
  ScoreService service{config, &tokenizer, options, scheduler};
  ChunkedService chunked{config, &tokenizer, options, scheduler};
  const JsonDoors doors = MakeJsonDoors(service, chunked);
};

}  // namespace scorecast::coordinator
