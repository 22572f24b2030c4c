#include "coordinator/endpoints/rerank/rerank_request.h"

#include "coordinator/endpoints/response_bytes.h"

namespace scorecast::coordinator {

std::int64_t RerankRequest::ResponseBytesBound(const proto::ModelConfig& /*config*/) const {
  std::int64_t bytes =
      kOtherBytes + static_cast<std::int64_t>(documents.size()) * (kListBytes + 2 * kNumberBytes);
  if (return_documents.value_or(true)) {
    for (const std::string& document : documents) {
      bytes += static_cast<std::int64_t>(document.size());
    }
  }
  return bytes;
}

}  // namespace scorecast::coordinator
