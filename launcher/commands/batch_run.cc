#include "launcher/commands/batch_run.h"

#include <cstring>
#include <string>

#include <unistd.h>

#include "coordinator/transports/batch/batch_progress.h"
#include "launcher/commands/command_end.h"
#include "launcher/log/progress_log.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

using coordinator::Batch;
using coordinator::BatchSummary;
using coordinator::RunFiles;

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

}  // namespace

void EndAtSecond(int received) {
  if (received > 1) {
    proto::LogWarning("second signal: ending at once");
    _exit(kExitInterrupted);
  }
}

BatchSummary RunLines(const BatchFlags& flags, RunFiles& files, coordinator::LineComputer& lines,
                      const std::string& ending,
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
  Batch batch(files.input(), files, lines, options);
  EndSignals::Get().Handle([&batch, ending](int received, int signal) {
    EndAtSecond(received);
    proto::LogInfo("{}: ending {}", strsignal(signal), ending);
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

int ExitCodeOf(const BatchFlags& flags, const BatchSummary& summary) {
  const int code = summary.ExitCode();
  return code == kExitLinesFailed && flags.ok_with_refusals ? kExitOk : code;
}

}  // namespace scorecast::launcher
