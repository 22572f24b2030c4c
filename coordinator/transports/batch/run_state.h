#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/transports/batch/run_point.h"
#include "proto/base/digest.h"
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
  RunSettings weights;            ///< Checksums of the model's files of weights.
  std::string build;              ///< By which build of scorecast the run began.
  std::uint64_t seed = 0;         ///< See BatchOptions::seed.
  std::int64_t created = 0;       ///< See BatchOptions::created.
  std::string model_name;         ///< See ServerOptions::model_name.
  std::int64_t output_bytes = 0;  ///< Of the output at `written`, as they are in the file.
  std::uint64_t output_digest = proto::Digest().value();  ///< Of these bytes.
  RunPoint written;
  RunPoint next;

  /// As JSON.
  std::string ToText() const;
  /// The error is what is wrong with the text and what can be done, to follow the file's name: "is
  /// broken (it is not JSON): put the run's own file back".
  static proto::Expected<RunState, std::string> FromText(std::string_view text);
};

/// What differs, as a clause for a message: "--dtype was f32 and is bf16, ranks was 2 and is 3".
/// Empty if nothing does.
std::string Differences(const RunSettings& was, const RunSettings& is);

}  // namespace scorecast::coordinator
