#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/run_files.h"
#include "coordinator/transports/batch/service_lines.h"
#include "launcher/commands/batch_run.h"
#include "launcher/commands/command_end.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/dry_run.h"
#include "launcher/engine/build_id.h"
#include "launcher/engine/engine.h"
#include "launcher/engine/run_settings.h"
#include "launcher/log/status_log.h"
#include "proto/base/error.h"
#include "proto/log/log.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/cluster_status.h"
#include "shard/worker/queued_cluster.h"

namespace scorecast::launcher {
namespace {

using coordinator::BatchSummary;
using coordinator::RunFiles;

coordinator::RunOptions RunOptionsOf(const BatchFlags& flags, const Engine& engine) {
  return {.input = flags.input,
          .output = flags.output,
          .max_line_bytes = flags.engine.max_request_bytes,
          .restart = flags.restart,
          .seed = flags.seed,
          .model_name = flags.engine.served_model_name.empty()
                            ? std::nullopt
                            : std::optional(flags.engine.served_model_name),
          .default_model_name = engine.server_options().model_name,
          .share = flags.share,
          .settings = RunSettingsOf(flags.engine, engine),
          .build = SCORECAST_VERSION ", build id " + BuildId(),
          .is_dry_run = flags.dry_run};
}

/// Called on rank 0. Requests are read on a thread of their own; plans are run on this thread.
int RunRankZero(const BatchFlags& flags, Engine& engine, RunFiles& files) {
  shard::QueuedCluster cluster(engine.runner(), engine.limits());
  coordinator::Scheduler scheduler(cluster, {.cached_pages = engine.cached_pages()});
  coordinator::ServerOptions options = engine.server_options();
  options.model_name = files.model_name();
  coordinator::RequestService service(engine.config(), engine.tokenizer(), options, scheduler);
  BatchSummary summary;
  std::exception_ptr fault;
  std::thread requests([&] {
    try {
      coordinator::ServiceLines lines(service);
      summary = RunLines(flags, files, lines, "after the pass in flight",
                         [&cluster] { return cluster.Status(); });
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
  LogEnd(flags, files, summary);
  LogCache(scheduler.cache_counters(), engine);
  return ExitCodeOf(flags, summary);
}

/// The ranks that --ranks plans. Null without the flag.
std::optional<PlannedRanks> PlannedRanksOf(const BatchFlags& flags, int ranks_of_job) {
  if (!flags.ranks) {
    return std::nullopt;
  }
  if (ranks_of_job > 1) {
    throw proto::StartupError("--ranks is for a dry run by one process, and this job has " +
                              std::to_string(ranks_of_job) + " ranks");
  }
  return PlannedRanks{*flags.ranks, std::min(flags.ranks_per_host, *flags.ranks)};
}

/// Called on every rank of the job.
int RunBatchDry(const BatchFlags& flags) {
  const auto is_stopped = std::make_shared<std::atomic<bool>>(false);
  const proto::Communicator world = proto::Communicator::World();
  if (world.is_root()) {
    EndSignals::Get().Handle([is_stopped](int received, int) {
      EndAtSecond(received);
      *is_stopped = true;
    });
  } else {
    LeaveSignalsToRankZero();
  }
  std::optional<RunFiles> files;
  Engine engine(
      flags.engine, [&](const Engine& self) { files.emplace(RunOptionsOf(flags, self)); },
      PlannedRanksOf(flags, world.size()));
  engine.CheckCheckpoint();
  if (engine.is_root()) {
    const bool is_done = ReportDryRun(flags, engine, *files, [&] { return is_stopped->load(); });
    if (!is_done) {
      proto::LogInfo("the dry run was ended by a signal");
      return kExitInterrupted;
    }
  }
  return kExitOk;
}

}  // namespace

int RunBatchCommand(const BatchFlags& flags) {
  if (flags.dry_run) {
    return RunBatchDry(flags);
  }
  if (proto::Communicator::World().is_root()) {
    EndSignals::Get().Handle([](int received, int signal) {
      EndAtSecond(received);
      proto::LogInfo("{}: ending when the model is loaded", strsignal(signal));
    });
  } else {
    LeaveSignalsToRankZero();
  }
  std::optional<RunFiles> files;
  Engine engine(flags.engine,
                [&](const Engine& self) { files.emplace(RunOptionsOf(flags, self)); });
  engine.Load(files && files->no_resumption_reason().empty());
  engine.StartupPhase([&] {
    if (engine.is_root()) {
      files->SetWeights(WeightSettingsOf(engine));
    }
  });
  if (!engine.is_root()) {
    engine.runner().Follow();
    return kExitOk;
  }
  return RunRankZero(flags, engine, *files);
}

}  // namespace scorecast::launcher
