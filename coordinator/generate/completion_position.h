#pragma once

#include <cstdint>

namespace scorecast::coordinator {

/// How far a completion has come. It lets a server go on with a stream that another one has begun.
struct CompletionPosition {
  std::int64_t tokens = 0;
  /// Of these tokens and, with `logprobs`, their log-probabilities: see proto::Digest.
  std::uint64_t digest = 0;

  bool operator==(const CompletionPosition&) const = default;
};

}  // namespace scorecast::coordinator
