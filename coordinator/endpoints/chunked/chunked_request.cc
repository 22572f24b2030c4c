#include "coordinator/endpoints/chunked/chunked_request.h"

#include <algorithm>

#include "coordinator/endpoints/response_bytes.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

bool HasList(const ChunkedRequest& request, int field) {
  const v1::ChunkedRequest& message = request.message;
  return request.IsEmptyList(field) ||
         message.GetReflection()->FieldSize(message,
                                            message.GetDescriptor()->FindFieldByNumber(field)) > 0;
}

std::int64_t ChunkedResponseBytesBound(const ChunkedRequest& own,
                                       const proto::ModelConfig& config) {
  const v1::ChunkedRequest& request = own.message;
  constexpr std::int64_t kIdBytes = 5;
  // A request for more new tokens than the model has positions is refused later.
  constexpr std::int64_t kMostNewTokens = std::int64_t{1} << 30;
  // Tags and lengths of an output; also an upper bound on those of a delta and its frame.
  constexpr std::int64_t kOutputBytes = 64;
  // A request with more questions is refused later.
  constexpr std::int64_t kMostQuestions = std::int64_t{1} << 20;
  const std::int64_t num_questions =
      std::clamp<std::int64_t>(request.questions_size(), 1, kMostQuestions);
  std::int64_t num_labels = config.num_labels;
  if (request.has_label_token_ids()) {
    num_labels = request.label_token_ids().ids_size();
  } else if (request.labels_size() > 0) {
    num_labels = request.labels_size();
  }
  std::int64_t bytes = kListBytes + num_labels * kNumberBytes;
  if (request.return_token_logprobs()) {
    bytes *= 2;
  }
  bytes += TopRowBytes(request.top_logprobs());
  if (request.max_new_tokens() > 0) {
    const std::int64_t output = kOutputBytes + std::min(request.max_new_tokens(), kMostNewTokens) *
                                                   (kIdBytes + kTextBytesPerToken);
    bytes += request.stream() ? 2 * output : output;
  }
  return kOtherBytes + num_questions * bytes;
}

}  // namespace scorecast::coordinator
