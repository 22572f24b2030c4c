#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <spdlog/spdlog.h>

#include "coordinator/endpoints/request_service.h"
#include "coordinator/generate/seed.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/schedule/scheduler_status.h"
#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/files/record_file.h"
#include "launcher/cache_log.h"
#include "launcher/commands.h"
#include "launcher/engine.h"
#include "launcher/status_log.h"
#include "launcher/stuck_ranks.h"
#include "proto/base/error.h"
#include "shard/worker/queued_cluster.h"

namespace scorecast::launcher {
namespace {

/// The files that --input and --output name, opened before any weight is read. An output file is
/// emptied only when the run begins, so a start-up fault loses nothing.
class BatchFiles {
 public:
  explicit BatchFiles(const BatchFlags& flags)
      : in_(flags.input, flags.engine.max_request_bytes), out_(OpenOutput(flags)) {}

  coordinator::InputFile& in() { return in_; }
  coordinator::RecordFile& out() { return out_; }

 private:
  static coordinator::RecordFile OpenOutput(const BatchFlags& flags) {
    std::error_code absent;
    if (std::filesystem::is_regular_file(flags.output, absent) &&
        std::filesystem::equivalent(flags.input, flags.output, absent)) {
      throw proto::StartupError("--output " + flags.output +
                                " is also the --input, which would be lost");
    }
    return coordinator::RecordFile(flags.output);
  }

  coordinator::InputFile in_;
  coordinator::RecordFile out_;
};

/// Runs on rank 0: reads requests on a thread of their own, and runs plans on this one.
int RunRankZero(const BatchFlags& flags, Engine& engine, BatchFiles& files) {
  shard::QueuedCluster cluster(engine.runner(), engine.limits());
  coordinator::Scheduler scheduler(cluster, {.cached_pages = engine.cached_pages()});
  coordinator::RequestService service(engine.config(), engine.tokenizer(), engine.server_options(),
                                      scheduler);
  coordinator::BatchSummary summary;
  std::exception_ptr fault;
  std::thread requests([&] {
    try {
      coordinator::BatchOptions options;
      options.seed = flags.seed ? *flags.seed : coordinator::DrawSeed();
      spdlog::info("--seed {}: the seed of completions whose requests give none", options.seed);
      files.out().BeginAt(0);
      summary = coordinator::RunBatch(files.in(), files.out(), service, options);
    } catch (...) {
      fault = std::current_exception();
    }
    scheduler.WaitIdle();
    cluster.Stop();
  });
  {
    const StatusLog status_log([&] {
      return coordinator::ServiceStatus{cluster.Status(), scheduler.status(), std::nullopt};
    });
    cluster.Run();
  }
  requests.join();
  if (const auto time = flags.engine.watch.rank_timeout; time.count() > 0) {
    LimitTimeOfEnd(time);
  }
  engine.runner().StopFollowers();
  if (fault) {
    std::rethrow_exception(fault);
  }
  if (!summary.failure.empty()) {
    throw std::runtime_error(summary.failure);
  }
  spdlog::info("{} answered, {} refused, {} error records", summary.succeeded, summary.refused,
               summary.error_records);
  LogCache(scheduler.cache_counters(), engine);
  return summary.ExitCode();
}

}  // namespace

int RunBatchCommand(const BatchFlags& flags) {
  std::optional<BatchFiles> files;
  Engine engine(flags.engine, [&] { files.emplace(flags); });
  if (!engine.is_root()) {
    engine.runner().Follow();
    return kExitOk;
  }
  return RunRankZero(flags, engine, *files);
}

}  // namespace scorecast::launcher
