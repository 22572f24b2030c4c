#include "coordinator/endpoints/tokenize/tokenize_request.h"

#include <cstddef>
#include <memory>
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
#include "proto/http_responses.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// Bytes of a TextToken, whose text has as many bytes as the token has of the request's text.
constexpr std::int64_t kTextTokenBytes = 32;
constexpr std::int64_t kMostAddedTokens = 16;

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
  auto response = std::make_unique<v1::TokenizeResponse>();
  response->set_count(static_cast<std::int64_t>(ids->size()));
  response->set_max_model_len(context.config.max_position_embeddings);
  response->mutable_tokens()->Assign(ids->begin(), ids->end());
  if (request.return_token_strs) {
    v1::Texts& spellings = *response->mutable_token_strs();
    for (const TokenId id : *ids) {
      spellings.add_values(tokenizer.Spelling(id));
    }
  }
  return Complete(std::make_unique<EndpointResponse>(std::move(response)), ids->size());
}

void AddTokens(std::vector<TextToken> tokens, v1::TextTokens& message) {
  message.mutable_tokens()->Reserve(static_cast<int>(tokens.size()));
  for (TextToken& token : tokens) {
    v1::TextToken& to = *message.add_tokens();
    to.set_id(token.id);
    to.set_text(std::move(token.text));
    to.set_special(token.is_added);
    if (token.start) {
      to.set_start(*token.start);
    }
    if (token.stop) {
      to.set_stop(*token.stop);
    }
  }
}

Expected<PreparedRequest> PrepareInputs(const TokenizeRequest& request,
                                        const RequestContext& context) {
  auto response = std::make_unique<v1::TeiTokenizeResponse>();
  std::size_t num_tokens = 0;
  for (std::size_t i = 0; i < request.texts.size(); ++i) {
    Expected<std::vector<TextToken>, EncodeFault> tokens = TokensOfText(
        *context.tokenizer, request.texts[i], request.add_special_tokens,
        {.special_tokens = context.options.special_tokens_in_text}, {.stop = context.stop});
    if (!tokens) {
      return Unexpected(EncodeErrorOf(tokens.error(), At("inputs", i)));
    }
    num_tokens += tokens->size();
    AddTokens(*std::move(tokens), *response->add_inputs());
  }
  return Complete(std::make_unique<EndpointResponse>(std::move(response)), num_tokens);
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
