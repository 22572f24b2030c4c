#include "coordinator/endpoints/cohere/embed_request.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/embedding_vectors.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/request/request_error.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;
using CohereMessage = v1::CohereEmbedRequest;

/// The encodings in which each vector is returned.
struct CohereTypes {
  bool floats = false;
  bool base64 = false;
  bool binary = false;
  bool ubinary = false;
};

Expected<CohereTypes> CohereTypesOf(const CohereMessage& request) {
  CohereTypes types;
  types.floats = request.embedding_types().empty();
  for (int i = 0; i < request.embedding_types_size(); ++i) {
    const std::string& type = request.embedding_types(i);
    bool* const known = type == "float"     ? &types.floats
                        : type == "base64"  ? &types.base64
                        : type == "binary"  ? &types.binary
                        : type == "ubinary" ? &types.ubinary
                                            : nullptr;
    if (known == nullptr) {
      const std::string field = At("embedding_types", static_cast<std::size_t>(i));
      return Unexpected(UnknownEncoding(field, "float, base64, binary or ubinary", type));
    }
    *known = true;
  }
  return types;
}

/// The texts of the request, in either of its two fields.
Expected<std::vector<std::string>> CohereTexts(CohereMessage& request) {
  if (request.texts().empty() == request.inputs().empty()) {
    return Unexpected(BadRequest("empty_input",
                                 "Either texts or inputs must be given, and not be empty.",
                                 request.texts().empty() ? "texts" : "inputs"));
  }
  std::vector<std::string> texts;
  for (std::string& text : *request.mutable_texts()) {
    texts.push_back(std::move(text));
  }
  for (int i = 0; i < request.inputs_size(); ++i) {
    auto& content = *request.mutable_inputs(i)->mutable_content();
    if (content.size() != 1 || !content[0].has_text() ||
        (content[0].has_type() && content[0].type() != "text")) {
      const std::string field = At("inputs", static_cast<std::size_t>(i)) + ".content";
      return Unexpected(BadRequest("not_one_text", field + " must be a list of one text.", field));
    }
    texts.push_back(std::move(*content[0].mutable_text()));
  }
  return texts;
}

Expected<TextLength> CohereLength(const CohereMessage& request) {
  TextLength length;
  const Expected<std::optional<Truncation::Side>> cut = CutOf(request.truncate(), "truncate");
  if (!cut) {
    return Unexpected(cut.error());
  }
  length.cut = *cut;
  if (request.has_max_tokens()) {
    if (request.max_tokens() < 1) {
      return Unexpected(BadRequest(
          "max_tokens_out_of_range",
          "max_tokens must be at least 1, not " + std::to_string(request.max_tokens()) + ".",
          "max_tokens"));
    }
    length.max_tokens = request.max_tokens();
  }
  return length;
}

struct CohereEmbedReadout : VectorReadout {
  CohereTypes types;
  std::vector<std::string> texts;  ///< Respond moves them into the response.
  bool is_v1 = false;
  bool is_by_type = true;
  std::optional<ResponseIdentity> identity;  ///< That of the request.

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::CohereEmbeddings>();
    response->set_id(ResponseId("embd-", identity));
    response->set_api_version(is_v1 ? "1" : "2");
    const auto add = [&](std::size_t /*text*/, const std::vector<std::vector<float>>& vector) {
      Add(vector.front(), *response);
    };
    if (auto fault = ForEachText(rows, vectors, add)) {
      return Unexpected(*std::move(fault));
    }
    for (std::string& text : texts) {
      response->add_texts(std::move(text));
    }
    return std::make_unique<EndpointResponse>(
        std::move(response), is_by_type ? v1::CohereEmbeddingsByType::descriptor()
                                        : v1::CohereEmbeddingsFloats::descriptor());
  }

 private:
  void Add(const std::vector<float>& vector, v1::CohereEmbeddings& response) const {
    if (types.floats) {
      response.add_float_()->mutable_values()->Assign(vector.begin(), vector.end());
    }
    if (types.base64) {
      response.add_base64(Base64Of(vector));
    }
    if (types.binary) {
      const std::vector<std::int32_t> bytes = PackedBits(vector, /*is_signed=*/true);
      response.add_binary()->mutable_values()->Assign(bytes.begin(), bytes.end());
    }
    if (types.ubinary) {
      const std::vector<std::int32_t> bytes = PackedBits(vector, /*is_signed=*/false);
      response.add_ubinary()->mutable_values()->Assign(bytes.begin(), bytes.end());
    }
  }
};

}  // namespace

Expected<PreparedRequest> PrepareCohereEmbed(MessageRequest<CohereMessage> request,
                                             const RequestContext& context,
                                             const OnDelta& /*on_delta*/) {
  CohereMessage& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  auto readout = std::make_shared<CohereEmbedReadout>();
  const Expected<CohereTypes> types = CohereTypesOf(message);
  if (!types) {
    return Unexpected(types.error());
  }
  readout->types = *types;
  readout->is_v1 = request.form->is_dialect();
  readout->is_by_type = !readout->is_v1 || !message.embedding_types().empty();
  readout->identity = request.identity;
  const Expected<TextLength> length = CohereLength(message);
  if (!length) {
    return Unexpected(length.error());
  }
  TextInputs inputs = {.texts = {},
                       .field = message.inputs().empty() ? "texts" : "inputs",
                       .length = *length,
                       .prompt_name = Given(message.has_input_type(), message.input_type()),
                       .prompt_field = "input_type"};
  Expected<std::vector<std::string>> texts = CohereTexts(message);
  if (!texts) {
    return Unexpected(std::move(texts).error());
  }
  readout->texts = *std::move(texts);
  for (const std::string& text : readout->texts) {
    inputs.texts.push_back({std::string_view(text), std::nullopt});
  }
  return PrepareVectors(
      {.dimensions = Given(message.has_output_dimension(), message.output_dimension()),
       .dimensions_field = "output_dimension",
       .normalize = std::nullopt,
       .bits_field = Given(types->binary || types->ubinary, std::string("embedding_types"))},
      std::move(inputs), std::move(readout), context);
}

std::int64_t CohereEmbedResponseBytesBound(const MessageRequest<CohereMessage>& request,
                                           const proto::ModelConfig& config) {
  const CohereMessage& message = request.message;
  const std::int64_t types = std::clamp<std::int64_t>(message.embedding_types_size(), 1, 4);
  const std::int64_t vectors = types * (kListBytes + config.output_size() * kNumberBytes);
  std::int64_t bytes =
      kOtherBytes + (message.texts_size() + message.inputs_size()) * (vectors + kListBytes);
  for (const std::string& text : message.texts()) {
    bytes += EscapedTextBytes(text);
  }
  for (const v1::CohereInput& input : message.inputs()) {
    for (const v1::CohereContent& content : input.content()) {
      bytes += EscapedTextBytes(content.text());
    }
  }
  return bytes;
}

}  // namespace scorecast::coordinator
