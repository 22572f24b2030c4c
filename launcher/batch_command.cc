#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
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
class BatchStreams {
 public:
  explicit BatchStreams(const BatchFlags& flags) {
    std::ios::sync_with_stdio(false);
    // A read of std::cin would flush std::cout, which another thread is writing.
    std::cin.tie(nullptr);
    if (flags.input != "-") {
      in_file_.open(flags.input, std::ios::binary);
      if (!in_file_) {
        throw proto::StartupError("cannot read " + flags.input);
      }
    }
    if (flags.output != "-") {
      std::error_code absent;
      if (std::filesystem::is_regular_file(flags.output, absent) &&
          std::filesystem::equivalent(flags.input, flags.output, absent)) {
        throw proto::StartupError("--output " + flags.output +
                                  " is also the --input, which would be lost");
      }
      out_path_ = flags.output;
      out_file_.open(flags.output, std::ios::binary | std::ios::app);
      if (!out_file_) {
        throw proto::StartupError("cannot write " + flags.output);
      }
    }
  }

  void EmptyOutput() const {
    if (std::filesystem::is_regular_file(out_path_)) {
      std::filesystem::resize_file(out_path_, 0);
    }
  }

  std::istream& in() { return in_file_.is_open() ? in_file_ : std::cin; }
  std::ostream& out() { return out_file_.is_open() ? out_file_ : std::cout; }

 private:
  std::filesystem::path out_path_;  ///< Empty for standard output.
  std::ifstream in_file_;
  std::ofstream out_file_;
};

/// Runs on rank 0: reads requests on a thread of their own, and runs plans on this one.
int RunRankZero(const BatchFlags& flags, Engine& engine, BatchStreams& streams) {
  shard::QueuedCluster cluster(engine.runner(), engine.limits());
  coordinator::Scheduler scheduler(cluster, {.cached_pages = engine.cached_pages()});
  coordinator::RequestService service(engine.config(), engine.tokenizer(), engine.server_options(),
                                      scheduler);
  coordinator::BatchSummary summary;
  std::exception_ptr fault;
  std::thread requests([&] {
    try {
      coordinator::BatchOptions options;
      options.max_request_bytes = flags.engine.max_request_bytes;
      options.seed = flags.seed ? *flags.seed : coordinator::DrawSeed();
      spdlog::info("--seed {}: the seed of completions whose requests give none", options.seed);
      streams.EmptyOutput();
      summary = coordinator::RunBatch(streams.in(), streams.out(), service, options);
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
  streams.out().flush();
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
  std::optional<BatchStreams> streams;
  Engine engine(flags.engine, [&] { streams.emplace(flags); });
  if (!engine.is_root()) {
    engine.runner().Follow();
    return kExitOk;
  }
  return RunRankZero(flags, engine, *streams);
}

}  // namespace scorecast::launcher
