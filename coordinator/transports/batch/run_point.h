#pragma once

#include <cstdint>

#include "proto/base/digest.h"

namespace scorecast::coordinator {

/// How far a run has come: between two lines of its input, and between two records of its output.
struct RunPoint {
  std::int64_t lines = 0;        ///< Lines of the input that are not blank, of all shares.
  std::int64_t input_bytes = 0;  ///< See InputFile::offset.
  std::uint64_t input_digest = proto::Digest().value();  ///< Of these bytes.

  std::int64_t succeeded = 0;      ///< Records with status code 200.
  std::int64_t refused = 0;        ///< Responses with another status code.
  std::int64_t error_records = 0;  ///< Records of lines that are not requests.

  std::int64_t records() const { return succeeded + refused + error_records; }
  bool operator==(const RunPoint&) const = default;
};

}  // namespace scorecast::coordinator
