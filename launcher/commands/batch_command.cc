#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/batch_progress.h"
#include "coordinator/transports/batch/run_files.h"
#include "coordinator/transports/batch/service_lines.h"
#include "launcher/commands/command_end.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/dry_run.h"
#include "launcher/engine/build_id.h"
#include "launcher/engine/engine.h"
#include "launcher/engine/run_settings.h"
#include "launcher/log/progress_log.h"
#include "launcher/log/status_log.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/log/log.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/cluster_status.h"
#include "shard/worker/queued_cluster.h"

namespace scorecast::launcher {
namespace {

using coordinator::Batch;
using coordinator::BatchSummary;
using coordinator::RunFiles;

/// At the second signal the process ends, and with it the job, whatever it is doing. The output
/// written by then stays, and the run can be continued.
void EndAtSecond(int received) {
  if (received > 1) {
    proto::LogWarning("second signal: ending at once");
    _exit(kExitInterrupted);
  }
}

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

void LogBegin(const BatchFlags& flags, const RunFiles& files) {
  proto::LogInfo("--seed {}: the seed of completions whose requests give none", files.seed());
  if (!files.no_resumption_reason().empty()) {
    proto::LogInfo("this run cannot go on if it is ended early, because {}",
                   files.no_resumption_reason());
  }
  if (files.begin().records() > 0) {
    proto::LogInfo("going on behind record {} of {}", files.begin().records(), flags.output);
  }
  if (!files.other_build().empty()) {
    proto::LogWarning("another build of scorecast began this run ({}): its bits may differ",
                      files.other_build());
  }
}

void LogEnd(const BatchFlags& flags, const RunFiles& files, const BatchSummary& summary) {
  if (summary.left_because) {
    proto::LogError("the line behind record {} cannot be computed now: {} {}: {}",
                    summary.end.records(), summary.left_because->code, summary.left_because->reason,
                    summary.left_because->message);
  }
  if (summary.is_interrupted) {
    proto::LogInfo("ended early behind record {} of {}{}", summary.end.records(), flags.output,
                   files.no_resumption_reason().empty() ? ": the same command goes on" : "");
  }
  proto::LogInfo("{} answered, {} refused, {}", summary.end.succeeded, summary.end.refused,
                 proto::Count(summary.end.error_records, "error record"));
}

BatchSummary RunLines(const BatchFlags& flags, RunFiles& files,
                      coordinator::RequestService& service,
                      const std::function<proto::ClusterStatus()>& cluster_status) {
  LogBegin(flags, files);
  files.Begin();
  coordinator::BatchProgress progress;
  coordinator::BatchOptions options;
  options.progress = &progress;
  options.seed = files.seed();
  options.created = files.created();
  options.share = flags.share;
  options.begin = files.begin();
  options.stop_reading = [&files] { files.StopReading(); };
  coordinator::ServiceLines lines(service);
  Batch batch(files.input(), files, lines, options);
  EndSignals::Get().Handle([&batch](int received, int signal) {
    EndAtSecond(received);
    proto::LogInfo("{}: ending after the pass in flight", strsignal(signal));
    batch.Interrupt();
  });
  BatchSummary summary;
  {
    const ProgressLog progress_log(progress, files.input().position(), files.input().size(),
                                   cluster_status);
    summary = batch.Run();
  }
  EndSignals::Get().Handle([](int received, int) { EndAtSecond(received); });
  if (summary.failure.empty()) {
    if (summary.is_interrupted) {
      files.Leave();
    } else {
      files.Finish(summary.end);
    }
  }
  return summary;
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
      summary = RunLines(flags, files, service, [&cluster] { return cluster.Status(); });
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
  const int code = summary.ExitCode();
  return code == kExitLinesFailed && flags.ok_with_refusals ? kExitOk : code;
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
