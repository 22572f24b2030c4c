#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include "coordinator/front/batch/replica_lines.h"
#include "coordinator/front/batch/run_replicas.h"
#include "coordinator/front/replica_pool.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/run_files.h"
#include "launcher/address/service_address.h"
#include "launcher/commands/batch_run.h"
#include "launcher/commands/command_end.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/replica_flags.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

using coordinator::RunReplicas;

/// A replica that is listed and cannot be reached does not keep the run waiting for longer.
constexpr auto kUnknownTime = std::chrono::seconds(3);
constexpr auto kLookInterval = std::chrono::milliseconds(50);
/// After this time the log says that the run waits.
constexpr auto kSilentWait = std::chrono::seconds(1);

coordinator::ReplicaOptions QuickOptionsOf(const ReplicaFlags& flags) {
  coordinator::ReplicaOptions options = ReplicaOptionsOf(flags);
  options.unknown_time = kUnknownTime;
  return options;
}

/// Waits until it is known which replicas compute the run. Nothing if it was stopped before.
std::optional<RunReplicas> AwaitReplicas(const std::string& list, coordinator::ReplicaPool& pool,
                                         const std::atomic<bool>& is_stopped) {
  const auto begin = coordinator::Clock::now();
  bool has_logged = false;
  while (!is_stopped) {
    proto::Expected<std::optional<RunReplicas>, std::string> found = std::optional<RunReplicas>();
    pool.Run([&] { found = coordinator::FindRunReplicas(pool.replicas()); });
    if (!found) {
      throw proto::StartupError("--replicas " + list + ": " + found.error());
    }
    if (*found) {
      return *found;
    }
    if (!has_logged && coordinator::Clock::now() - begin >= kSilentWait) {
      has_logged = true;
      proto::LogInfo("waiting until the replicas in {} have said what they are", list);
    }
    std::this_thread::sleep_for(kLookInterval);
  }
  return std::nullopt;
}

coordinator::RunOptions RunOptionsOf(const BatchFlags& flags, const RunReplicas& replicas) {
  return {.input = flags.input,
          .output = flags.output,
          .max_line_bytes = replicas.max_request_bytes,
          .restart = flags.restart,
          .seed = flags.seed,
          .model_name = std::nullopt,
          .default_model_name = replicas.facts.model,
          .share = flags.share,
          .settings = coordinator::RunSettingsOf(replicas.facts),
          .build = "replicas of scorecast " + replicas.facts.version};
}

}  // namespace

int RunReplicaBatchCommand(const BatchFlags& flags) {
  // Shared, because signals may also come after the end of this function.
  const auto is_stopped = std::make_shared<std::atomic<bool>>(false);
  EndSignals::Get().Handle([is_stopped](int received, int signal) {
    EndAtSecond(received);
    proto::LogInfo("{}: ending", strsignal(signal));
    *is_stopped = true;
  });
  // A malformed reply is that of a replica, which is lost then.
  google::protobuf::SetLogHandler(nullptr);
  coordinator::ReplicaThread thread(QuickOptionsOf(flags.replicas),
                                    coordinator::ForwarderOptionsOfLines(),
                                    ReplicaListOf(flags.replicas));
  coordinator::ReplicaPool& pool = thread.pool();
  const std::optional<RunReplicas> replicas =
      AwaitReplicas(proto::OneLinePath(flags.replicas.replicas.string()), pool, *is_stopped);
  if (!replicas) {
    proto::LogInfo("ended before there was a replica");
    return kExitInterrupted;
  }
  coordinator::RunFiles files(RunOptionsOf(flags, *replicas));
  files.SetWeights({});
  coordinator::ReplicaLines lines(pool, *replicas,
                                  "batch:" + OwnHostName() + ":" + std::to_string(getpid()));
  const coordinator::BatchSummary summary =
      RunLines(flags, files, lines, "now", /*cluster_status=*/{});
  if (!summary.failure.empty()) {
    throw std::runtime_error(summary.failure);
  }
  LogEnd(flags, files, summary);
  return ExitCodeOf(flags, summary);
}

}  // namespace scorecast::launcher
