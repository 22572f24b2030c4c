#include "coordinator/endpoints/embeddings/embeddings_request.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;
using EmbeddingsMessage = v1::EmbeddingsRequest;

enum class Encoding { kFloat, kBase64, kBinary, kUbinary };

std::optional<Encoding> EncodingOf(std::string_view name) {
  if (name == "float") {
    return Encoding::kFloat;
  }
  if (name == "base64") {
    return Encoding::kBase64;
  }
  if (name == "binary") {
    return Encoding::kBinary;
  }
  return name == "ubinary" ? std::optional(Encoding::kUbinary) : std::nullopt;
}

bool IsBits(Encoding encoding) {
  return encoding == Encoding::kBinary || encoding == Encoding::kUbinary;
}

struct EmbeddingsReadout : VectorReadout {
  Encoding encoding = Encoding::kFloat;

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::EmbeddingsResponse>();
    response->mutable_data()->Reserve(static_cast<int>(num_texts));
    const auto add = [&](std::size_t text, const std::vector<std::vector<float>>& vector) {
      v1::Embedding& embedding = *response->add_data();
      embedding.set_index(static_cast<std::int64_t>(text));
      Set(vector.front(), embedding);
    };
    if (auto fault = ForEachText(rows, vectors, add)) {
      return Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response), &Description());
  }

 private:
  void Set(const std::vector<float>& vector, v1::Embedding& embedding) const {
    if (encoding == Encoding::kFloat) {
      embedding.mutable_values()->Assign(vector.begin(), vector.end());
    } else if (encoding == Encoding::kBase64) {
      embedding.set_base64(Base64Of(vector));
    } else {
      const std::vector<std::int32_t> bytes = PackedBits(vector, encoding == Encoding::kBinary);
      embedding.mutable_bytes()->Assign(bytes.begin(), bytes.end());
    }
  }

  const google::protobuf::Descriptor& Description() const {
    switch (encoding) {
      case Encoding::kFloat:
        break;
      case Encoding::kBase64:
        return *v1::OpenAiBase64Response::descriptor();
      case Encoding::kBinary:
      case Encoding::kUbinary:
        return *v1::JinaBinaryResponse::descriptor();
    }
    return *v1::OpenAiEmbeddingsResponse::descriptor();
  }
};

}  // namespace

Expected<PreparedRequest> PrepareEmbeddings(MessageRequest<EmbeddingsMessage> request,
                                            const RequestContext& context,
                                            const OnDelta& /*on_delta*/) {
  const EmbeddingsMessage& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  auto readout = std::make_shared<EmbeddingsReadout>();
  const std::string& encoding_field = request.NameOf(EmbeddingsMessage::kEncodingFormatFieldNumber);
  const std::optional<Encoding> encoding = EncodingOf(message.encoding_format());
  if (!encoding) {
    return Unexpected(BadRequest("unknown_encoding",
                                 encoding_field +
                                     " must be float, base64, binary or ubinary, not " +
                                     Quoted(message.encoding_format()) + ".",
                                 encoding_field));
  }
  readout->encoding = *encoding;
  const Expected<TextLength> length =
      CheckLength(message.truncate(), message.truncation_direction(),
                  Given(message.has_truncate_prompt_tokens(), message.truncate_prompt_tokens()));
  if (!length) {
    return Unexpected(length.error());
  }
  return PrepareVectors({.dimensions = Given(message.has_dimensions(), message.dimensions()),
                         .normalize = Given(message.has_normalized(), message.normalized()),
                         .bits_field = Given(IsBits(*encoding), encoding_field)},
                        {.texts = InputsOf(ViewsOf(message.input())),
                         .field = request.NameOf(EmbeddingsMessage::kInputFieldNumber),
                         .length = *length,
                         .prompt_name = Given(message.has_prompt_name(), message.prompt_name()),
                         .prompt_field = request.NameOf(EmbeddingsMessage::kPromptNameFieldNumber)},
                        std::move(readout), context);
}

std::int64_t EmbeddingsResponseBytesBound(const MessageRequest<EmbeddingsMessage>& request,
                                          const proto::ModelConfig& config) {
  const EmbeddingsMessage& message = request.message;
  std::int64_t size = config.read_head->output_size;
  if (message.has_dimensions() && message.dimensions() > 0) {
    size = std::min(size, message.dimensions());
  }
  // Names, index and brackets of an embedding, which other responses have once.
  constexpr std::int64_t kEmbeddingBytes = 32;
  return kOtherBytes + message.input_size() * (kEmbeddingBytes + kListBytes + size * kNumberBytes);
}

}  // namespace scorecast::coordinator
