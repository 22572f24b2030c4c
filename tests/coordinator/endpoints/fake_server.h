#pragma once

#include <utility>

#include "coordinator/request/server_options.h"
#include "coordinator/service/request_service.h"
#include "proto/log/log.h"
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
  static ServerOptions MultiItem() {
    ServerOptions options;
    options.delimiter = 256;
    options.chunks.enable_chunk_aware = true;
    return options;
  }

  explicit FakeServer(const ServerOptions& server_options = MultiItem(),
                      const SchedulerOptions& scheduler_options = {},
                      EndpointList endpoints = Endpoints(), DeadlineTimer::Now now = Clock::now,
                      RequestObserver* observer = nullptr)
      : options(server_options),
        scheduler(cluster, scheduler_options),
        service(config, &tokenizer, options, scheduler, endpoints, std::move(now), observer) {}

  /// Asked so that the log is made before any thread logs, because ThreadSanitizer does not see how
  /// libspdlog synchronizes its making.
  const bool logs_errors = proto::ShouldLog(proto::LogLevel::kError);
  const proto::ModelConfig config = Config();
  const ServerOptions options;
  HoldingTokenizer tokenizer{{{"<d>", 256}, {" yes", 257}, {" no", 258}}, 259};
  FakeCluster cluster{
      {.max_rows = 64, .max_reads = 160, .pass_kv_rows = 4096, .kept_kv_rows = 8192}, kVocabSize};
  Scheduler scheduler;
  RequestService service;
};

}  // namespace scorecast::coordinator
