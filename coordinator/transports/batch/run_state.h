#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/transports/batch/run_point.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// What the bits of a run's records depend on besides its input, such as {"--dtype", "bf16"}: names
/// and values for messages.
using RunSettings = std::vector<std::pair<std::string, std::string>>;

/// What the file beside the output of a batch holds, so that the same command can go on with the
/// run. It is written before the records of `next`, and again before those behind them. Up to
/// `output_bytes` the output is therefore complete; behind that it has any part of the records
/// between `written` and `next`.
struct RunState {
  RunSettings settings;
  std::string build;              ///< By which build of scorecast the run began.
  std::uint64_t seed = 0;         ///< See BatchOptions::seed.
  std::int64_t created = 0;       ///< See BatchOptions::created.
  std::int64_t output_bytes = 0;  ///< Of the output at `written`, as they are in the file.
  RunPoint written;
  RunPoint next;

  /// As JSON.
  std::string ToText() const;
  /// The error is what is wrong with the text.
  static proto::Expected<RunState, std::string> FromText(std::string_view text);
};

/// What differs, as a clause for a message: "--dtype was f32 and is bf16, ranks was 2 and is 3".
/// Empty if nothing does.
std::string Differences(const RunSettings& was, const RunSettings& is);

}  // namespace scorecast::coordinator
