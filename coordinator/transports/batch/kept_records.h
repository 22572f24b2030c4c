#pragma once

#include <cstdint>
#include <filesystem>

#include "coordinator/transports/batch/run_state.h"
#include "proto/base/digest.h"

namespace scorecast::coordinator {

/// The records of an output that its run keeps when it goes on.
struct KeptRecords {
  std::int64_t output_bytes = 0;  ///< Up to the end of the last one, as they are in the file.
  proto::Digest output_digest;    ///< Of these bytes.
  // See RunPoint.
  std::int64_t succeeded = 0;
  std::int64_t refused = 0;
  std::int64_t error_records = 0;

  std::int64_t records() const { return succeeded + refused + error_records; }
};

/// Reads an output. Keeps what lies before `state.output_bytes`, and behind it the whole records,
/// or in a compressed file all of them if their member or frame is whole. Throws StartupError if
/// the file is shorter than `state.output_bytes`, if the bytes up to there are not those that were
/// written, or if it has more records than those before `state.next`.
KeptRecords FindKeptRecords(const std::filesystem::path& output, const RunState& state);

}  // namespace scorecast::coordinator
