#include "coordinator/endpoints/tokenize/tokenize_request.h"

#include <cstddef>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tokenize/complete_readout.h"
#include "coordinator/endpoints/tokenize/text_tokens.h"
#include "coordinator/endpoints/tokenize/tokenize_fields.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// Bytes of a TextToken, whose text has as many bytes as the token has of the request's text.
constexpr std::int64_t kTextTokenBytes = 32;
constexpr std::int64_t kMostAddedTokens = 16;

/// vLLM's response.
struct PromptTokens : EndpointResponse {
  std::vector<TokenId> ids;
  std::optional<std::vector<std::string>> spellings;
  std::int64_t max_model_len = 0;

  OrderedJson ToJson() const override {
    OrderedJson body;
    body["count"] = ids.size();
    body["max_model_len"] = max_model_len;
    body["tokens"] = ids;
    body["token_strs"] = spellings ? OrderedJson(*spellings) : OrderedJson();
    return body;
  }
};

/// TEI's response.
struct InputsTokens : EndpointResponse {
  std::vector<std::vector<TextToken>> inputs;

  OrderedJson ToJson() const override {
    OrderedJson body = OrderedJson::array();
    for (const std::vector<TextToken>& tokens : inputs) {
      OrderedJson& list = body.emplace_back(OrderedJson::array());
      for (const TextToken& token : tokens) {
        OrderedJson& json = list.emplace_back();
        json["id"] = token.id;
        json["text"] = token.text;
        json["special"] = token.is_added;
        json["start"] = token.start ? OrderedJson(*token.start) : OrderedJson();
        json["stop"] = token.stop ? OrderedJson(*token.stop) : OrderedJson();
      }
    }
    return body;
  }
};

/// The fault of a request that tokenizing does not find.
std::optional<Error> FieldFault(const TokenizeRequest& request, const RequestContext& context) {
  if (auto fault = OptionsFault(request)) {
    return fault;
  }
  const std::string field = request.is_inputs ? "inputs" : "prompt";
  if (context.tokenizer == nullptr) {
    return BadRequest("no_tokenizer", "This model has no tokenizer.", field);
  }
  const auto num_texts = static_cast<std::int64_t>(request.texts.size());
  if (num_texts > context.options.max_items) {
    return BadRequest("too_many_items",
                      "Too many inputs: " + Exceeds(num_texts, context.options.max_items) + ".",
                      field);
  }
  for (std::size_t i = 0; i < request.texts.size(); ++i) {
    if (!IsValidUtf8(request.texts[i])) {
      return InvalidUtf8(num_texts == 1 ? field : At(field, i));
    }
  }
  return std::nullopt;
}

/// The error of a text whose encoding has ended. Its tokens are not limited.
Error EncodeErrorOf(EncodeFault fault, const std::string& field) {
  return EncodeError(fault, BadRequest("too_many_tokens", "Too many tokens.", field), field);
}

Expected<PreparedRequest> PreparePrompt(const TokenizeRequest& request,
                                        const RequestContext& context) {
  const Tokenizer& tokenizer = *context.tokenizer;
  Expected<std::vector<TokenId>, EncodeFault> ids =
      IdsOfText(tokenizer, request.texts.front(), request.add_special_tokens,
                {.special_tokens = context.options.special_tokens_in_text}, {.stop = context.stop});
  if (!ids) {
    return Unexpected(EncodeErrorOf(ids.error(), "prompt"));
  }
  PromptTokens response;
  response.ids = *std::move(ids);
  response.max_model_len = context.config.max_position_embeddings;
  if (request.return_token_strs) {
    response.spellings.emplace();
    for (const TokenId id : response.ids) {
      response.spellings->push_back(tokenizer.Spelling(id));
    }
  }
  const auto num_tokens = static_cast<std::int64_t>(response.ids.size());
  return Complete(std::move(response), num_tokens);
}

Expected<PreparedRequest> PrepareInputs(const TokenizeRequest& request,
                                        const RequestContext& context) {
  InputsTokens response;
  std::int64_t num_tokens = 0;
  for (std::size_t i = 0; i < request.texts.size(); ++i) {
    Expected<std::vector<TextToken>, EncodeFault> tokens = TokensOfText(
        *context.tokenizer, request.texts[i], request.add_special_tokens,
        {.special_tokens = context.options.special_tokens_in_text}, {.stop = context.stop});
    if (!tokens) {
      return Unexpected(EncodeErrorOf(tokens.error(), At("inputs", i)));
    }
    num_tokens += static_cast<std::int64_t>(tokens->size());
    response.inputs.push_back(*std::move(tokens));
  }
  return Complete(std::move(response), num_tokens);
}

}  // namespace

Expected<PreparedRequest> TokenizeRequest::Prepare(const RequestContext& context,
                                                   const OnDelta& /*on_delta*/) const {
  if (auto fault = FieldFault(*this, context)) {
    return Unexpected(*std::move(fault));
  }
  return is_inputs ? PrepareInputs(*this, context) : PreparePrompt(*this, context);
}

std::int64_t TokenizeRequest::ResponseBytesBound(const proto::ModelConfig& /*config*/) const {
  std::int64_t bytes = kOtherBytes;
  for (const std::string& text : texts) {
    // A text has at most one token for each byte, and the tokenizer's rule adds few.
    const std::int64_t most_tokens = static_cast<std::int64_t>(text.size()) + kMostAddedTokens;
    const std::int64_t of_token =
        is_inputs ? kTextTokenBytes : kNumberBytes + (return_token_strs ? kTextBytesPerToken : 0);
    bytes += kListBytes + most_tokens * of_token;
  }
  return bytes;
}

Expected<TokenizeRequest> TokenizeRequestFromJson(const nlohmann::json& body) {
  TokenizeRequest request;
  request.is_inputs = HasField(body, "inputs");
  BodyReader reader(body, request.is_inputs ? kTokenizeInputsFields : kTokenizePromptFields);
  if (request.is_inputs) {
    request.texts = reader.StringOrStrings("inputs").value_or(request.texts);
  } else {
    request.texts = {reader.String("prompt").value_or("")};
    request.return_token_strs = reader.Bool("return_token_strs", request.return_token_strs);
  }
  request.add_special_tokens = reader.Bool("add_special_tokens", request.add_special_tokens);
  reader.ReadOptions(request);
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  return request;
}

}  // namespace scorecast::coordinator
