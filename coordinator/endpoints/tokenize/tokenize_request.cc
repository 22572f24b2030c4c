#include "coordinator/endpoints/tokenize/tokenize_request.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/conversation_tokens.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/endpoints/tokenize/complete_readout.h"
#include "coordinator/endpoints/tokenize/text_tokens.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/json/response_form.h"
#include "coordinator/json/response_writer.h"
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

/// A token of a TEI response, as JSON.
void WriteToken(const TextToken& token, JsonWriter& writer) {
  static const ResponseForm& form = FormOf(*v1::TextToken::descriptor());
  v1::TextToken message;
  message.set_id(token.id);
  message.set_text(token.text);
  message.set_special(token.is_added);
  if (token.start) {
    message.set_start(*token.start);
  }
  if (token.stop) {
    message.set_stop(*token.stop);
  }
  WriteResponse(message, form, {}, writer);
}

/// The tokens as the vocabulary spells them, as JSON. Nothing if nobody waits any more.
std::optional<std::string> SpellingsJson(std::span<const TokenId> ids,
                                         const RequestContext& context) {
  constexpr std::size_t kTokensPerLook = 256;
  std::string json;
  JsonWriter writer(json);
  writer.BeginList();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % kTokensPerLook == 0 && ShouldStop(context.interruption)) {
      return std::nullopt;
    }
    writer.Text(context.tokenizer->Spelling(ids[i]));
  }
  writer.EndList();
  writer.Finish();
  return json;
}

/// The response with the tokens of the field `field`.
Expected<PreparedRequest> Respond(std::span<const TokenId> ids, bool returns_spellings,
                                  const std::string& field, const RequestContext& context) {
  auto response = std::make_unique<v1::TokenizeResponse>();
  response->set_count(static_cast<std::int64_t>(ids.size()));
  response->set_max_model_len(context.config.max_position_embeddings);
  response->mutable_tokens()->Assign(ids.begin(), ids.end());
  auto complete = std::make_unique<EndpointResponse>(std::move(response));
  if (returns_spellings) {
    std::optional<std::string> spellings = SpellingsJson(ids, context);
    if (!spellings) {
      return Unexpected(EncodeErrorOf(EncodeFault::kStopped, field));
    }
    complete->SetWritten(v1::TokenizeResponse::kTokenStrsFieldNumber, *std::move(spellings));
  }
  return Complete(std::move(complete), ids.size());
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
  return Respond(*ids, message.return_token_strs(), "prompt", context);
}

Expected<PreparedRequest> PrepareTokenizeChat(MessageRequest<v1::TokenizeChatRequest> request,
                                              const RequestContext& context,
                                              const OnDelta& /*on_delta*/) {
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<std::vector<TokenId>> ids = TokensOfConversation(request, context);
  if (!ids) {
    return Unexpected(ids.error());
  }
  return Respond(*ids, request.message.return_token_strs(), "messages", context);
}

std::int64_t TokenizeChatResponseBytesBound(const MessageRequest<v1::TokenizeChatRequest>& request,
                                            const proto::ModelConfig& /*config*/) {
  // The excess of other templates is counted when the response is formed.
  const v1::TokenizeChatRequest& message = request.message;
  return kOtherBytes + TokensBound(message.messages()) *
                           (kNumberBytes + (message.return_token_strs() ? kTextBytesPerToken : 0));
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
  // Written as they are found: as messages, tokens take several times the memory.
  std::string json;
  JsonWriter writer(json);
  writer.BeginList();
  std::size_t num_tokens = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    writer.BeginList();
    const Expected<std::size_t, EncodeFault> found =
        FindTokens(*context.tokenizer, inputs[i], request.message.add_special_tokens(),
                   {.special_tokens = context.options.special_tokens_in_text},
                   {.interruption = context.interruption},
                   [&](const TextToken& token) { WriteToken(token, writer); });
    if (!found) {
      return Unexpected(EncodeErrorOf(found.error(), At("inputs", i)));
    }
    num_tokens += *found;
    writer.EndList();
  }
  writer.EndList();
  writer.Finish();
  auto response = std::make_unique<EndpointResponse>(std::make_unique<v1::TeiTokenizeResponse>());
  response->SetWritten(v1::TeiTokenizeResponse::kInputsFieldNumber, std::move(json));
  return Complete(std::move(response), num_tokens);
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
