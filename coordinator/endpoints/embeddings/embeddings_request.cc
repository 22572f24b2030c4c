#include "coordinator/endpoints/embeddings/embeddings_request.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/embedding_vectors.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;
using EmbeddingsMessage = v1::EmbeddingsRequest;

/// How the values of a vector are written.
struct Encoding {
  enum class Values { kFloats, kBinary, kUbinary };
  Values values = Values::kFloats;
  bool is_base64 = false;

  bool is_bits() const { return values != Values::kFloats; }
};

std::optional<Encoding::Values> ValuesOf(std::string_view name) {
  if (name == "float") {
    return Encoding::Values::kFloats;
  }
  if (name == "binary") {
    return Encoding::Values::kBinary;
  }
  return name == "ubinary" ? std::optional(Encoding::Values::kUbinary) : std::nullopt;
}

Expected<Encoding> EncodingOf(const MessageRequest<EmbeddingsMessage>& request) {
  const EmbeddingsMessage& message = request.message;
  const std::string& field = request.NameOf(EmbeddingsMessage::kEncodingFormatFieldNumber);
  Encoding encoding = {.is_base64 = message.encoding_format() == "base64"};
  const std::optional<Encoding::Values> values =
      encoding.is_base64 ? encoding.values : ValuesOf(message.encoding_format());
  if (!values) {
    return Unexpected(
        UnknownEncoding(field, "float, base64, binary or ubinary", message.encoding_format()));
  }
  encoding.values = *values;
  if (message.has_output_dtype()) {
    const std::optional<Encoding::Values> own = ValuesOf(message.output_dtype());
    if (!own) {
      return Unexpected(
          UnknownEncoding("output_dtype", "float, binary or ubinary", message.output_dtype()));
    }
    if (encoding.is_bits() && *own != encoding.values) {
      return Unexpected(BadRequest("given_twice",
                                   "output_dtype and " + field + " ask for different values.",
                                   "output_dtype"));
    }
    encoding.values = *own;
  }
  return encoding;
}

Expected<TextLength> LengthOf(const MessageRequest<EmbeddingsMessage>& request,
                              const RequestContext& context) {
  const EmbeddingsMessage& message = request.message;
  const std::optional<std::int64_t> most =
      Given(message.has_truncate_prompt_tokens(), message.truncate_prompt_tokens());
  const std::string& field = request.NameOf(EmbeddingsMessage::kTruncateFieldNumber);
  if (!request.IsStringOf(EmbeddingsMessage::kTruncateFieldNumber,
                          EmbeddingsMessage::kTruncationDirectionFieldNumber)) {
    Expected<TextLength> length = CheckLength(
        message.truncate(),
        Given(message.has_truncation_direction(), message.truncation_direction()), context, most);
    if (length) {
      length->cut_field = field;
    }
    return length;
  }
  const Expected<std::optional<Truncation::Side>> cut =
      CutOf(message.truncation_direction(), field);
  if (!cut) {
    return Unexpected(cut.error());
  }
  Expected<TextLength> length =
      CheckLength(/*truncate=*/false, /*direction=*/std::nullopt, context, most);
  if (length) {
    length->cut = *cut;
  }
  return length;
}

struct EmbeddingsReadout : VectorReadout {
  Encoding encoding;

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
    if (!encoding.is_bits()) {
      if (encoding.is_base64) {
        embedding.set_base64(Base64Of(vector));
      } else {
        embedding.mutable_values()->Assign(vector.begin(), vector.end());
      }
      return;
    }
    const std::vector<std::int32_t> bytes =
        PackedBits(vector, encoding.values == Encoding::Values::kBinary);
    if (encoding.is_base64) {
      embedding.set_base64(Base64Of(bytes));
    } else {
      embedding.mutable_bytes()->Assign(bytes.begin(), bytes.end());
    }
  }

  const google::protobuf::Descriptor& Description() const {
    if (encoding.is_base64) {
      return *v1::OpenAiBase64Response::descriptor();
    }
    return encoding.is_bits() ? *v1::JinaBinaryResponse::descriptor()
                              : *v1::OpenAiEmbeddingsResponse::descriptor();
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
  const Expected<Encoding> encoding = EncodingOf(request);
  if (!encoding) {
    return Unexpected(encoding.error());
  }
  readout->encoding = *encoding;
  const std::string& bits_field =
      message.has_output_dtype() ? request.NameOf(EmbeddingsMessage::kOutputDtypeFieldNumber)
                                 : request.NameOf(EmbeddingsMessage::kEncodingFormatFieldNumber);
  const Expected<TextLength> length = LengthOf(request, context);
  if (!length) {
    return Unexpected(length.error());
  }
  return PrepareVectors(
      {.dimensions = Given(message.has_dimensions(), message.dimensions()),
       .dimensions_field = request.NameOf(EmbeddingsMessage::kDimensionsFieldNumber),
       .normalize = Given(message.has_normalized(), message.normalized()),
       .bits_field = Given(encoding->is_bits(), bits_field)},
      {.texts = InputsOf(ViewsOf(message.input())),
       .field = request.NameOf(EmbeddingsMessage::kInputFieldNumber),
       .length = *length,
       .prompt_name = Given(message.has_prompt_name(), message.prompt_name()),
       .prompt_field = request.NameOf(EmbeddingsMessage::kPromptNameFieldNumber),
       .prompt = Given(message.has_prompt(), message.prompt())},
      std::move(readout), context);
}

std::int64_t EmbeddingsResponseBytesBound(const MessageRequest<EmbeddingsMessage>& request,
                                          const proto::ModelConfig& config) {
  const EmbeddingsMessage& message = request.message;
  std::int64_t size = config.output_size();
  if (message.has_dimensions() && message.dimensions() > 0) {
    size = std::min(size, message.dimensions());
  }
  // Names, index and brackets of an embedding, which other responses have once.
  constexpr std::int64_t kEmbeddingBytes = 32;
  const std::int64_t kept_bytes = std::max(size * kNumberBytes, EmbeddingBytes(config));
  return kOtherBytes + message.input_size() * (kEmbeddingBytes + kListBytes + kept_bytes);
}

}  // namespace scorecast::coordinator
