#include "coordinator/endpoints/vllm/pooling_request.h"

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/class_scores.h"
#include "coordinator/endpoints/embedding_vectors.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/vllm/pooled_texts.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

enum class PoolingTask { kEmbed, kTokenEmbed, kClassify };

template <typename Message>
Expected<PoolingTask> TaskOf(const Message& request, const proto::ModelConfig& config) {
  const std::string_view usual = config.is_embedder() ? "embed" : "classify";
  const std::string_view task = request.has_task() ? request.task() : usual;
  if (task == "token_embed" && config.is_embedder()) {
    return PoolingTask::kTokenEmbed;
  }
  if (task == usual) {
    return config.is_embedder() ? PoolingTask::kEmbed : PoolingTask::kClassify;
  }
  return Unexpected(BadRequest("unknown_task",
                               "task must be " +
                                   std::string(config.is_embedder() ? "embed or token_embed of an "
                                                                      "embedding model"
                                                                    : "classify of a classifier") +
                                   ", not " + Quoted(task) + ".",
                               "task"));
}

struct PoolingReadout : TextReadout {
  PoolingTask task = PoolingTask::kEmbed;
  EmbeddingVectors vectors;  ///< Of an embedding model.
  ClassScores scores;        ///< Of a classifier.
  bool is_base64 = false;
  std::optional<ResponseIdentity> identity;  ///< That of the request.

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::PoolingResults>();
    response->set_id(ResponseId("pool-", identity));
    response->set_created(CreatedTime(identity));
    const auto add = [&](std::size_t text, const std::vector<std::vector<float>>& values) {
      v1::PoolingResult& result = *response->add_data();
      result.set_index(static_cast<std::int64_t>(text));
      if (is_base64) {
        result.set_base64(Base64Of(Joined(values)));
        return;
      }
      for (const std::vector<float>& row : values) {
        auto& list = task == PoolingTask::kTokenEmbed ? *result.add_rows()->mutable_values()
                                                      : *result.mutable_values();
        list.Assign(row.begin(), row.end());
      }
    };
    if (auto fault = ForEachText(rows, *this, add)) {
      return Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response), &Description());
  }
  /// What the task makes of a row.
  Expected<std::vector<float>> Of(const proto::RowLogits& row, std::size_t text) const {
    if (task != PoolingTask::kClassify) {
      return vectors.Of(row, text);
    }
    const Expected<std::vector<double>> classes = scores.Of(row, text);
    if (!classes) {
      return Unexpected(classes.error());
    }
    return std::vector<float>(classes->begin(), classes->end());
  }

 private:
  /// The rows, one after the other.
  static std::vector<float> Joined(const std::vector<std::vector<float>>& rows) {
    std::vector<float> all;
    for (const std::vector<float>& row : rows) {
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  const google::protobuf::Descriptor& Description() const {
    if (is_base64) {
      return *v1::PoolingBase64Response::descriptor();
    }
    return task == PoolingTask::kTokenEmbed ? *v1::PoolingRowsResponse::descriptor()
                                            : *v1::PoolingResponse::descriptor();
  }
};

/// What becomes of the vectors of an embedding model.
template <typename Message>
Expected<EmbeddingVectors> VectorsOf(const Message& request, PoolingTask task,
                                     const proto::ModelConfig& config) {
  if (request.has_dimensions() && task != PoolingTask::kEmbed) {
    return Unexpected(
        BadRequest("dimensions_not_here", "dimensions needs the task embed.", "dimensions"));
  }
  Expected<EmbeddingVectors> vectors = EmbeddingVectors();
  if (task == PoolingTask::kEmbed) {
    vectors =
        CheckVectors({.dimensions = Given(request.has_dimensions(), request.dimensions()),
                      .normalize = Given(request.has_use_activation(), request.use_activation())},
                     config);
  } else if (task == PoolingTask::kTokenEmbed) {
    vectors->size = config.hidden_size;
    vectors->normalizes = request.has_use_activation() && request.use_activation();
  }
  return vectors;
}

}  // namespace

template <typename Message>
Expected<PreparedRequest> PreparePooling(MessageRequest<Message> request,
                                         const RequestContext& context,
                                         const OnDelta& /*on_delta*/) {
  const Message& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<PoolingTask> task = TaskOf(message, context.config);
  if (!task) {
    return Unexpected(task.error());
  }
  if (message.encoding_format() != "float" && message.encoding_format() != "base64") {
    return Unexpected(BadRequest(
        "unknown_encoding",
        "encoding_format must be float or base64, not " + Quoted(message.encoding_format()) + ".",
        "encoding_format"));
  }
  Expected<EmbeddingVectors> vectors = VectorsOf(message, *task, context.config);
  if (!vectors) {
    return Unexpected(std::move(vectors).error());
  }
  std::vector<TokenId> ids;
  Expected<TextInputs> inputs = VllmInputs(request, context, ids);
  if (!inputs) {
    return Unexpected(std::move(inputs).error());
  }
  if (*task == PoolingTask::kTokenEmbed &&
      std::ssize(ids) > NumRowsBound(message, context.config)) {
    return Unexpected(
        proto::Error{413, "answer_too_large",
                     "The chat template makes the response too large: it adds much to "
                     "short messages.",
                     inputs->field});
  }
  vectors->field = inputs->field;
  inputs->reads_all_rows = *task == PoolingTask::kTokenEmbed;
  inputs->keeps_length = vectors->keeps_length;
  auto readout = std::make_shared<PoolingReadout>();
  readout->task = *task;
  readout->vectors = *std::move(vectors);
  const bool is_raw = message.has_use_activation() && !message.use_activation();
  readout->scores = {.kind = KindOfClasses(context.config, is_raw), .field = inputs->field};
  readout->is_base64 = message.encoding_format() == "base64";
  readout->identity = request.identity;
  return PrepareTexts(*inputs, std::move(readout), context);
}

template <typename Message>
std::int64_t PoolingResponseBytesBound(const MessageRequest<Message>& request,
                                       const proto::ModelConfig& config) {
  const Message& message = request.message;
  constexpr std::int64_t kResultBytes = 32;
  const std::int64_t texts = NumTexts(message);
  const std::int64_t bytes = kOtherBytes + texts * (kResultBytes + kListBytes);
  if (message.task() == "token_embed") {
    return bytes + NumRowsBound(message, config) * (kListBytes + config.hidden_size * kNumberBytes);
  }
  return bytes + texts * config.output_size() * kNumberBytes;
}

template Expected<PreparedRequest> PreparePooling(MessageRequest<v1::PoolingRequest>,
                                                  const RequestContext&, const OnDelta&);
template Expected<PreparedRequest> PreparePooling(MessageRequest<v1::PoolingChatRequest>,
                                                  const RequestContext&, const OnDelta&);
template std::int64_t PoolingResponseBytesBound(const MessageRequest<v1::PoolingRequest>&,
                                                const proto::ModelConfig&);
template std::int64_t PoolingResponseBytesBound(const MessageRequest<v1::PoolingChatRequest>&,
                                                const proto::ModelConfig&);

}  // namespace scorecast::coordinator
