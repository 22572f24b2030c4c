#include "coordinator/endpoints/chunked/chunked_request.h"

#include <algorithm>
#include <cstddef>

#include "coordinator/endpoints/response_bytes.h"

namespace scorecast::coordinator {

std::int64_t ChunkedRequest::ResponseBytesBound(const proto::ModelConfig& config) const {
  constexpr std::int64_t kIdBytes = 5;
  // A request for more new tokens than the model has positions is refused later.
  constexpr std::int64_t kMostNewTokens = std::int64_t{1} << 30;
  // Tags and lengths of an output; also an upper bound on those of a delta and its frame.
  constexpr std::int64_t kOutputBytes = 64;
  // A request with more questions is refused later.
  constexpr std::int64_t kMostQuestions = std::int64_t{1} << 20;
  const auto num_questions = std::min(
      kMostQuestions, static_cast<std::int64_t>(questions ? questions->size() : std::size_t{1}));
  std::int64_t num_labels = config.num_labels;
  if (label_token_ids) {
    num_labels = static_cast<std::int64_t>(label_token_ids->size());
  } else if (labels) {
    num_labels = static_cast<std::int64_t>(labels->size());
  }
  std::int64_t bytes = kListBytes + num_labels * kNumberBytes;
  if (return_token_logprobs) {
    bytes *= 2;
  }
  bytes += TopRowBytes(top_logprobs);
  if (max_new_tokens > 0) {
    const std::int64_t output =
        kOutputBytes + std::min(max_new_tokens, kMostNewTokens) * (kIdBytes + kTextBytesPerToken);
    bytes += stream ? 2 * output : output;
  }
  return kOtherBytes + num_questions * bytes;
}

}  // namespace scorecast::coordinator
