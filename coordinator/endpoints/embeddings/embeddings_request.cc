#include "coordinator/endpoints/embeddings/embeddings_request.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/embedding_vectors.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
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

struct EmbeddingsReadout : Readout {
  EmbeddingVectors vectors;
  Encoding encoding = Encoding::kFloat;
  std::size_t num_texts = 0;

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::EmbeddingsResponse>();
    response->mutable_data()->Reserve(static_cast<int>(num_texts));
    for (std::size_t i = 0; i < num_texts; ++i) {
      Expected<std::vector<float>> vector = vectors.Of(rows[i].front(), i);
      if (!vector) {
        return Unexpected(std::move(vector).error());
      }
      v1::Embedding& embedding = *response->add_data();
      embedding.set_index(static_cast<std::int64_t>(i));
      Set(*vector, embedding);
    }
    return std::make_unique<EndpointResponse>(std::move(response), &Description());
  }
  std::string Summary() const override { return proto::Count(num_texts, "text"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(num_texts); }

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
  const std::string& field = request.NameOf(EmbeddingsMessage::kInputFieldNumber);
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
  Expected<EmbeddingVectors> vectors = CheckVectors(
      Given(message.has_dimensions(), message.dimensions()),
      Given(message.has_normalized(), message.normalized()), "dimensions", context.config);
  if (!vectors) {
    return Unexpected(std::move(vectors).error());
  }
  readout->vectors = *std::move(vectors);
  readout->vectors.field = field;
  const bool is_bits = *encoding == Encoding::kBinary || *encoding == Encoding::kUbinary;
  if (auto fault = is_bits ? BitsFault(readout->vectors, encoding_field) : std::nullopt) {
    return Unexpected(*std::move(fault));
  }
  const Expected<TextLength> length =
      CheckLength(message.truncate(), message.truncation_direction(),
                  Given(message.has_truncate_prompt_tokens(), message.truncate_prompt_tokens()));
  if (!length) {
    return Unexpected(length.error());
  }
  Expected<TextSequences> made =
      MakeTextSequences({.texts = InputsOf(ViewsOf(message.input())),
                         .field = field,
                         .length = *length,
                         .prompt_name = Given(message.has_prompt_name(), message.prompt_name()),
                         .prompt_field = request.NameOf(EmbeddingsMessage::kPromptNameFieldNumber),
                         .keeps_length = readout->vectors.keeps_length},
                        context);
  if (!made) {
    return Unexpected(std::move(made).error());
  }
  readout->num_texts = made->sequences.size();
  readout->prompt_tokens = made->prompt_tokens;
  return PreparedRequest{
      .sequences = std::move(made->sequences), .generations = {}, .readout = std::move(readout)};
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
