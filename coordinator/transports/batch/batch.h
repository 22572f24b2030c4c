#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/transports/batch/batch_output.h"
#include "coordinator/transports/batch/batch_progress.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/line_computer.h"
#include "coordinator/transports/batch/line_share.h"
#include "coordinator/transports/batch/line_window.h"
#include "coordinator/transports/batch/run_point.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

struct BatchOptions {
  WindowLimits window;
  /// Seed of the run. Completions of a request without a seed get one that follows from this one
  /// and the number of the line among those that are not blank; so do ids of responses.
  std::uint64_t seed = 0;
  /// What responses say that have a time, in seconds since 1970.
  std::int64_t created = 0;
  /// The lines to be computed.
  LineShare share;
  /// Where the run goes on. The input has been read up to there.
  RunPoint begin;
  /// Called when no further line need be read, on any thread and perhaps several times. Should end
  /// an input that waits for bytes.
  std::function<void()> stop_reading = [] {};
  /// Told of each record; may be null.
  BatchProgress* progress = nullptr;
};

struct BatchSummary {
  /// Behind the last record that was written. Its counts are those of the whole run.
  RunPoint end;
  /// Lines are left, because of Interrupt or of `left_because`. The same run can go on later.
  bool is_interrupted = false;
  /// The 503 or 429 of a line that the server could not compute, at which the run has ended. Absent
  /// after Interrupt.
  std::optional<proto::Error> left_because;
  std::string failure;  ///< Why the run itself failed; empty if it did not.

  /// 0: every record has status code 200. 3: some do not. 75: lines are left. 1: the run failed.
  int ExitCode() const;
};

/// Runs OpenAI batch lines, {"custom_id":…,"method":"POST","url":…,"body":{…}}, and writes one
/// record for each in the order of the input, even if they are computed in another order. Blank
/// lines are skipped. A line that is not a request gets an error record with its number. Lines are
/// read on the calling thread, which waits while the responses of earlier lines take too much room;
/// records are formed and written on another thread. A prompt output gets its records
/// whenever the next one is not ready; others get them a few times a second, or when there are some
/// megabytes. If the output fails, lines that still wait to be computed are cancelled.
class Batch {
 public:
  /// The arguments outlive the batch.
  Batch(InputFile& in, BatchOutput& out, LineComputer& computer, const BatchOptions& options);

  /// Runs the batch to its end. To be called once.
  BatchSummary Run();

  /// Ends the run early: see LineComputer::StopSoon. Run returns when all records up to the first
  /// one that is missing are written. Any thread may call it, before Run as well.
  void Interrupt();

 private:
  /// Returns whether it came to the end of the input. No further line is read after Stop.
  bool ReadLines(RunPoint& end);

  InputFile& in_;
  BatchOutput& out_;
  LineComputer& computer_;
  const BatchOptions options_;
  /// Shared with whoever computes lines, and may not have returned from Ready yet when the last one
  /// is written.
  const std::shared_ptr<LineWindow> window_;
};

}  // namespace scorecast::coordinator
