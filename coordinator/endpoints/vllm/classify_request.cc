#include "coordinator/endpoints/vllm/classify_request.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/class_scores.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/vllm/pooled_texts.h"
#include "coordinator/text/files/label_names.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

struct ClassifyReadout : TextReadout {
  ClassScores scores;
  const std::vector<std::string>* label_names = nullptr;
  std::optional<ResponseIdentity> identity;  ///< That of the request.

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::Classifications>();
    response->set_id(ResponseId("classify-", identity));
    response->set_created(CreatedTime(identity));
    const auto add = [&](std::size_t index, const std::vector<std::vector<double>>& of_text) {
      const std::vector<double>& classes = of_text.front();
      const std::size_t best = ClassesBestFirst(rows[index].front()).front();
      v1::Classification& text = *response->add_data();
      text.set_index(static_cast<std::int64_t>(index));
      text.set_label((*label_names)[best]);
      text.mutable_probs()->Assign(classes.begin(), classes.end());
      text.set_num_classes(static_cast<std::int64_t>(classes.size()));
    };
    if (auto fault = ForEachText(rows, scores, add)) {
      return Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response),
                                              v1::ClassifyResponse::descriptor());
  }
};

}  // namespace

template <typename Message>
Expected<PreparedRequest> PrepareClassify(MessageRequest<Message> request,
                                          const RequestContext& context,
                                          const OnDelta& /*on_delta*/) {
  const Message& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  std::vector<TokenId> ids;
  const Expected<TextInputs> inputs = VllmInputs(request, context, ids);
  if (!inputs) {
    return Unexpected(inputs.error());
  }
  auto readout = std::make_shared<ClassifyReadout>();
  const bool is_raw = message.has_use_activation() && !message.use_activation();
  readout->scores = {.kind = KindOfClasses(context.config, is_raw), .field = inputs->field};
  readout->label_names = &context.options.label_names;
  readout->identity = request.identity;
  return PrepareTexts(*inputs, std::move(readout), context);
}

template <typename Message>
std::int64_t ClassifyResponseBytesBound(const MessageRequest<Message>& request,
                                        const proto::ModelConfig& config) {
  return kOtherBytes + NumTexts(request.message) *
                           (kMaxLabelBytes + kListBytes + config.num_labels * kNumberBytes);
}

template Expected<PreparedRequest> PrepareClassify(MessageRequest<v1::ClassifyRequest>,
                                                   const RequestContext&, const OnDelta&);
template Expected<PreparedRequest> PrepareClassify(MessageRequest<v1::ClassifyChatRequest>,
                                                   const RequestContext&, const OnDelta&);
template std::int64_t ClassifyResponseBytesBound(const MessageRequest<v1::ClassifyRequest>&,
                                                 const proto::ModelConfig&);
template std::int64_t ClassifyResponseBytesBound(const MessageRequest<v1::ClassifyChatRequest>&,
                                                 const proto::ModelConfig&);

}  // namespace scorecast::coordinator
