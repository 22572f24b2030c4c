#include "coordinator/endpoints/vllm/classify_request.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/class_scores.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/endpoints/vllm/pooled_texts.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

struct ClassifyReadout : Readout {
  bool is_raw = false;
  const std::vector<std::string>* label_names = nullptr;
  std::size_t num_texts = 0;
  std::optional<ResponseIdentity> identity;  ///< That of the request.

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::Classifications>();
    response->set_id(ResponseId("classify-", identity));
    response->set_created(CreatedTime(identity));
    for (std::size_t i = 0; i < num_texts; ++i) {
      const Expected<std::vector<double>> scores =
          ClassScores(rows[i].front(), is_raw, At(kVllmTexts, i));
      if (!scores) {
        return Unexpected(scores.error());
      }
      const auto best =
          static_cast<std::size_t>(std::ranges::max_element(*scores) - scores->begin());
      v1::Classification& text = *response->add_data();
      text.set_index(static_cast<std::int64_t>(i));
      text.set_label((*label_names)[best]);
      text.mutable_probs()->Assign(scores->begin(), scores->end());
      text.set_num_classes(static_cast<std::int64_t>(scores->size()));
    }
    return std::make_unique<EndpointResponse>(std::move(response),
                                              v1::ClassifyResponse::descriptor());
  }
  std::string Summary() const override { return proto::Count(num_texts, "text"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(num_texts); }
};

}  // namespace

Expected<PreparedRequest> PrepareClassify(MessageRequest<v1::ClassifyRequest> request,
                                          const RequestContext& context,
                                          const OnDelta& /*on_delta*/) {
  const v1::ClassifyRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  Expected<TextSequences> made = MakeVllmSequences(message, {}, context);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  auto readout = std::make_shared<ClassifyReadout>();
  readout->is_raw = message.has_use_activation() && !message.use_activation();
  readout->label_names = &context.options.label_names;
  readout->num_texts = made->sequences.size();
  readout->prompt_tokens = made->prompt_tokens;
  readout->identity = request.identity;
  return PreparedRequest{
      .sequences = std::move(made->sequences), .generations = {}, .readout = std::move(readout)};
}

std::int64_t ClassifyResponseBytesBound(const MessageRequest<v1::ClassifyRequest>& request,
                                        const proto::ModelConfig& config) {
  // A name of a class is text of a file of the model.
  constexpr std::int64_t kLabelBytes = 256;
  return kOtherBytes + request.message.input_size() *
                           (kLabelBytes + kListBytes + config.num_labels * kNumberBytes);
}

}  // namespace scorecast::coordinator
