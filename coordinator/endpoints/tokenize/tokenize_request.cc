#include "coordinator/endpoints/tokenize/tokenize_request.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/tokenize/complete_readout.h"
#include "coordinator/endpoints/tokenize/text_tokens.h"
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

/// The fault of texts that tokenizing does not find. `field` is the one that has them.
std::optional<Error> TextsFault(const RequestOptions& options,
                                std::span<const std::string_view> texts, const std::string& field,
                                const RequestContext& context) {
  if (auto fault = OptionsFault(options)) {
    return fault;
  }
  if (context.tokenizer == nullptr) {
    return BadRequest("no_tokenizer", "This model has no tokenizer.", field);
  }
  const auto num_texts = static_cast<std::int64_t>(texts.size());
  if (num_texts > context.options.max_items) {
    return BadRequest("too_many_items",
                      "Too many inputs: " + Exceeds(num_texts, context.options.max_items) + ".",
                      field);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!IsValidUtf8(texts[i])) {
      return InvalidUtf8(num_texts == 1 ? field : At(field, i));
    }
  }
  return std::nullopt;
}

/// The error of a text whose encoding has ended. Its tokens are not limited.
Error EncodeErrorOf(EncodeFault fault, const std::string& field) {
  return EncodeError(fault, BadRequest("too_many_tokens", "Too many tokens.", field), field);
}

/// Upper bound on the bytes of the tokens of a text. A text has at most one token for each byte,
/// and the tokenizer's rule adds few.
std::int64_t TokensBytesBound(std::string_view text, std::int64_t bytes_of_token) {
  return kListBytes + (static_cast<std::int64_t>(text.size()) + kMostAddedTokens) * bytes_of_token;
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

}  // namespace

Expected<PreparedRequest> PrepareTokenizePrompt(MessageRequest<v1::TokenizePromptRequest> request,
                                                const RequestContext& context,
                                                const OnDelta& /*on_delta*/) {
  const v1::TokenizePromptRequest& message = request.message;
  const std::string_view prompt = message.prompt();
  if (auto fault = TextsFault(request, {&prompt, 1}, "prompt", context)) {
    return Unexpected(*std::move(fault));
  }
  const Tokenizer& tokenizer = *context.tokenizer;
  Expected<std::vector<TokenId>, EncodeFault> ids =
      IdsOfText(tokenizer, prompt, message.add_special_tokens(),
                {.special_tokens = context.options.special_tokens_in_text},
                {.interruption = context.interruption});
  if (!ids) {
    return Unexpected(EncodeErrorOf(ids.error(), "prompt"));
  }
  auto response = std::make_unique<v1::TokenizeResponse>();
  response->set_count(static_cast<std::int64_t>(ids->size()));
  response->set_max_model_len(context.config.max_position_embeddings);
  response->mutable_tokens()->Assign(ids->begin(), ids->end());
  if (message.return_token_strs()) {
    v1::Texts& spellings = *response->mutable_token_strs();
    for (const TokenId id : *ids) {
      spellings.add_values(tokenizer.Spelling(id));
    }
  }
  return Complete(std::make_unique<EndpointResponse>(std::move(response)), ids->size());
}

std::int64_t TokenizePromptResponseBytesBound(
    const MessageRequest<v1::TokenizePromptRequest>& request,
    const proto::ModelConfig& /*config*/) {
  const v1::TokenizePromptRequest& message = request.message;
  return kOtherBytes +
         TokensBytesBound(message.prompt(),
                          kNumberBytes + (message.return_token_strs() ? kTextBytesPerToken : 0));
}

Expected<PreparedRequest> PrepareTokenizeInputs(MessageRequest<v1::TokenizeInputsRequest> request,
                                                const RequestContext& context,
                                                const OnDelta& /*on_delta*/) {
  const std::vector<std::string_view> inputs = ViewsOf(request.message.inputs());
  if (auto fault = TextsFault(request, inputs, "inputs", context)) {
    return Unexpected(*std::move(fault));
  }
  auto response = std::make_unique<v1::TeiTokenizeResponse>();
  std::size_t num_tokens = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Expected<std::vector<TextToken>, EncodeFault> tokens =
        TokensOfText(*context.tokenizer, inputs[i], request.message.add_special_tokens(),
                     {.special_tokens = context.options.special_tokens_in_text},
                     {.interruption = context.interruption});
    if (!tokens) {
      return Unexpected(EncodeErrorOf(tokens.error(), At("inputs", i)));
    }
    num_tokens += tokens->size();
    AddTokens(*std::move(tokens), *response->add_inputs());
  }
  return Complete(std::make_unique<EndpointResponse>(std::move(response)), num_tokens);
}

std::int64_t TokenizeInputsResponseBytesBound(
    const MessageRequest<v1::TokenizeInputsRequest>& request,
    const proto::ModelConfig& /*config*/) {
  std::int64_t bytes = kOtherBytes;
  for (const std::string& input : request.message.inputs()) {
    bytes += TokensBytesBound(input, kTextTokenBytes);
  }
  return bytes;
}

}  // namespace scorecast::coordinator
