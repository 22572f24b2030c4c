#include "coordinator/endpoints/completions/chat_request.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/endpoints/chunk_separator.h"
#include "coordinator/endpoints/completions/completions_request.h"
#include "coordinator/endpoints/generation_fields.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/response_id.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/check.h"
#include "proto/base/one_line.h"
#include "proto/http_responses.pb.h"
#include "proto/plan/forward_plan.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

std::string MessageField(int index, std::string_view member) {
  return At("messages", static_cast<std::size_t>(index)) + "." + std::string(member);
}

std::optional<Error> RoleFault(const v1::ChatMessage& message, int index) {
  static constexpr std::array<std::string_view, 4> kRoles = {"system", "developer", "user",
                                                             "assistant"};
  if (std::ranges::find(kRoles, message.role()) != kRoles.end()) {
    return std::nullopt;
  }
  return BadRequest("unknown_role",
                    MessageField(index, "role") +
                        " must be \"system\", \"developer\", \"user\" or \"assistant\", not " +
                        Quoted(message.role()) + ": this server calls no tools.",
                    MessageField(index, "role"));
}

/// The parts of a message's content. `fault` is set if one of them is no text.
ChatMessage PartsOf(const v1::ChatMessage& message, int index, std::optional<Error>& fault) {
  ChatMessage parts{.role = message.role()};
  if (!message.content().has_parts()) {
    parts.texts.push_back(message.content().text());
  }
  parts.is_list = message.content().has_parts();
  for (const v1::ChatContentPart& part : message.content().parts().parts()) {
    if (part.type() != "text") {
      const std::string field = At(MessageField(index, "content"), parts.texts.size()) + ".type";
      fault = BadRequest("not_supported",
                         field + " must be \"text\", not " + Quoted(part.type()) + ".", field);
    }
    parts.texts.push_back(part.text());
  }
  for (std::size_t i = 0; i < parts.texts.size() && !fault; ++i) {
    if (!IsValidUtf8(parts.texts[i])) {
      fault = InvalidUtf8(MessageField(index, "content"));
    }
  }
  return parts;
}

Expected<Conversation> ConversationOf(const ChatRequest& request, const ChatTemplate& chat) {
  const v1::ChatRequest& message = request.message;
  Conversation conversation{.add_generation_prompt = message.add_generation_prompt(),
                            .continue_final_message = message.continue_final_message(),
                            .time = CreatedTime(request.identity)};
  for (int i = 0; i < message.messages_size(); ++i) {
    auto fault = RoleFault(message.messages(i), i);
    conversation.messages.push_back(PartsOf(message.messages(i), i, fault));
    if (fault) {
      return Unexpected(*std::move(fault));
    }
  }
  for (const v1::ChatTemplateArgument& argument : message.chat_template_kwargs()) {
    const std::string field = "chat_template_kwargs." + proto::OneLine(argument.key());
    if (!chat.TakesArgument(argument.key())) {
      return Unexpected(BadRequest("not_supported",
                                   field + " is not supported by this server: every conversation "
                                           "has its own value of this variable.",
                                   field));
    }
    if (!IsValidUtf8(argument.key()) || !IsValidUtf8(argument.value())) {
      return Unexpected(InvalidUtf8("chat_template_kwargs"));
    }
    std::erase_if(conversation.arguments,
                  [&](const ChatArgument& before) { return before.name == argument.key(); });
    conversation.arguments.push_back({argument.key(), argument.value()});
  }
  return conversation;
}

/// The field of the limit of tokens.
std::string MaxField(const v1::ChatRequest& message) {
  return message.has_max_tokens() ? "max_tokens" : "max_completion_tokens";
}

/// The limit of tokens, if it is given.
std::optional<std::int64_t> GivenMax(const v1::ChatRequest& message) {
  if (message.has_max_completion_tokens()) {
    return message.max_completion_tokens();
  }
  return message.has_max_tokens() ? std::optional(message.max_tokens()) : std::nullopt;
}

/// The fault of fields that contradict each other or the server.
std::optional<Error> OptionFault(const v1::ChatRequest& message, const RequestContext& context) {
  if (context.options.chat == nullptr) {
    return BadRequest("no_chat_template",
                      "This server does not chat: " + context.options.no_chat_reason + ".",
                      "messages");
  }
  if (message.messages_size() == 0) {
    return BadRequest("empty_conversation", "messages must be a nonempty list.", "messages");
  }
  if (message.has_max_tokens() && message.has_max_completion_tokens() &&
      message.max_tokens() != message.max_completion_tokens()) {
    return BadRequest("given_twice",
                      "max_completion_tokens and max_tokens mean the same, but differ.",
                      "max_tokens");
  }
  if (GivenMax(message).value_or(1) < 1) {
    return OutOfRange(MaxField(message), "at least 1, not " + std::to_string(*GivenMax(message)));
  }
  if (message.top_logprobs() < 0 || message.top_logprobs() > kMostLogprobs) {
    return OutOfRange("top_logprobs", "from 0 to " + std::to_string(kMostLogprobs) + ", not " +
                                          std::to_string(message.top_logprobs()));
  }
  if (message.top_logprobs() > 0 && !message.logprobs()) {
    return BadRequest("top_logprobs_without_logprobs", "top_logprobs needs logprobs: true.",
                      "top_logprobs");
  }
  if (message.chunk_aware() && !context.options.chunks.enable_chunk_aware) {
    return BadRequest("not_supported",
                      "chunk_aware is not supported by this server: it needs --enable-chunk-aware.",
                      "chunk_aware");
  }
  if (message.continue_final_message() && message.add_generation_prompt()) {
    return BadRequest("continue_final_message_with_generation_prompt",
                      "continue_final_message needs add_generation_prompt: false.",
                      "continue_final_message");
  }
  return std::nullopt;
}

Error RenderingError(const JinjaFault& fault) {
  switch (fault.kind) {
    case JinjaFault::Kind::kRaised:
      return BadRequest("conversation_refused",
                        "The chat template refuses the conversation: " + Quoted(fault.what, 1024),
                        "messages");
    case JinjaFault::Kind::kStopped:
      return EncodeError(EncodeFault::kStopped, {}, "messages");
    case JinjaFault::Kind::kLimit:
    case JinjaFault::Kind::kTemplate:
      break;
  }
  return BadRequest("not_rendered",
                    "The chat template cannot render the conversation: " +
                        proto::OneLine(fault.Text(), 1024) + ".",
                    "messages");
}

/// The tokens of a conversation.
struct ChatPrompt {
  std::vector<TokenId> ids;             ///< All, or those of the system prompt.
  std::optional<SplitPromptIds> split;  ///< Set if the conversation was taken apart.

  std::int64_t num_tokens() const {
    std::size_t tokens = ids.size();
    if (split) {
      tokens += split->question.size();
      for (const std::vector<TokenId>& chunk : split->chunks) {
        tokens += chunk.size();
      }
    }
    return static_cast<std::int64_t>(tokens);
  }
};

/// The parts between the separators of a text, or the whole text if it has fewer than two.
std::vector<MarkedText> PartsBetween(const MarkedText& text, std::string_view separator) {
  const std::optional<SplitPrompt> split = SplitAtSeparators(text.text(), separator);
  if (!split) {
    return {text};
  }
  std::vector<std::string_view> views = {split->system_prompt};
  views.insert(views.end(), split->chunks.begin(), split->chunks.end());
  views.push_back(split->question);
  std::vector<MarkedText> parts;
  for (const std::string_view view : views) {
    parts.push_back(
        text.Part(static_cast<std::size_t>(view.data() - text.text().data()), view.size()));
  }
  return parts;
}

Expected<ChatPrompt> PromptOf(const ChatRequest& request, const RequestContext& context) {
  const ChatPrompts& chat = *context.options.chat;
  const Expected<Conversation> conversation = ConversationOf(request, chat.chat_template());
  if (!conversation) {
    return Unexpected(conversation.error());
  }
  Expected<MarkedText, JinjaFault> text =
      chat.chat_template().Render(*conversation, context.interruption);
  if (!text) {
    return Unexpected(RenderingError(text.error()));
  }
  const std::int64_t positions = context.config.max_position_embeddings;
  std::vector<MarkedText> parts;
  if (request.message.chunk_aware()) {
    parts = PartsBetween(*text, context.options.chunks.separator);
  } else {
    parts.push_back(*std::move(text));
  }
  // Before all of them are tokenized.
  const auto chunks = static_cast<std::int64_t>(parts.size()) - 2;
  if (chunks > context.options.max_items) {
    return Unexpected(BadRequest(
        "too_many_chunks", "Too many chunks: " + Exceeds(chunks, context.options.max_items) + ".",
        "messages"));
  }
  std::vector<std::vector<TokenId>> of_parts;
  for (const MarkedText& part : parts) {
    Expected<std::vector<TokenId>, EncodeFault> ids = chat.Tokens(
        part, {.max_tokens = CountedTokens(positions), .interruption = context.interruption},
        /*at_start=*/of_parts.empty());
    if (!ids) {
      return Unexpected(EncodeError(
          ids.error(),
          BadRequest("too_many_positions",
                     "Too many positions: " + FarExceeds(positions) + "." + kNothingIsCut,
                     "messages"),
          "messages"));
    }
    of_parts.push_back(*std::move(ids));
  }
  ChatPrompt prompt{.ids = std::move(of_parts.front()), .split = std::nullopt};
  if (of_parts.size() > 1) {
    prompt.split.emplace();
    prompt.split->question = std::move(of_parts.back());
    prompt.split->chunks.assign(std::make_move_iterator(of_parts.begin() + 1),
                                std::make_move_iterator(of_parts.end() - 1));
  }
  return prompt;
}

/// The most tokens for which model and memory have room behind a prompt, for each of `n`
/// completions; at least 1. A prompt that is too long itself is refused later.
std::int64_t RoomBehind(const ChatPrompt& prompt, std::int64_t n, const RequestContext& context) {
  const std::int64_t pages = context.limits.kept_kv_rows / proto::kKvPageRows;
  // Each part begins a page, and each completion has a question of its own.
  const auto pages_of = [](std::size_t tokens) {
    return static_cast<std::int64_t>(tokens) / proto::kKvPageRows + 1;
  };
  std::int64_t of_prompt = pages_of(prompt.ids.size());
  std::int64_t of_question = 0;
  if (prompt.split) {
    for (const std::vector<TokenId>& chunk : prompt.split->chunks) {
      of_prompt += pages_of(chunk.size());
    }
    of_question = pages_of(prompt.split->question.size());
  }
  const std::int64_t of_each =
      (pages - of_prompt) / std::clamp<std::int64_t>(n, 1, kMostCompletions) - of_question - 1;
  const std::int64_t positions = context.config.max_position_embeddings - prompt.num_tokens();
  return std::max<std::int64_t>(std::min(positions, of_each * proto::kKvPageRows), 1);
}

/// The request as one to /v1/completions, with the fields that both have.
CompletionsRequest WithPrompt(ChatRequest request, const std::vector<TokenId>& ids,
                              std::int64_t max_tokens) {
  static const BodyForm form(*v1::CompletionsRequest::descriptor());
  CompletionsRequest result;
  static_cast<EndpointRequest&>(result) = std::move(static_cast<EndpointRequest&>(request));
  request.message.clear_messages();
  request.message.clear_max_completion_tokens();
  request.message.clear_add_generation_prompt();
  request.message.clear_continue_final_message();
  request.message.clear_chat_template_kwargs();
  const bool has_logprobs = request.message.logprobs();
  const std::int64_t top_logprobs = request.message.top_logprobs();
  request.message.clear_logprobs();
  request.message.clear_top_logprobs();
  proto::Check(result.message.ParseFromString(request.message.SerializeAsString()),
               "a request to chat has the fields of one to complete prompts");
  result.message.set_max_tokens(max_tokens);
  if (has_logprobs) {
    result.message.set_logprobs(top_logprobs);
  }
  result.message.add_prompt()->mutable_ids()->mutable_ids()->Assign(ids.begin(), ids.end());
  CompleteMessage(form, result.message);
  return result;
}

}  // namespace

Expected<PreparedRequest> PrepareChat(ChatRequest request, const RequestContext& context,
                                      const OnDelta& on_delta) {
  if (auto fault = OptionFault(request.message, context)) {
    return Unexpected(*std::move(fault));
  }
  Expected<ChatPrompt> prompt = PromptOf(request, context);
  if (!prompt) {
    return Unexpected(std::move(prompt).error());
  }
  const std::string max_field = MaxField(request.message);
  const std::int64_t max_tokens =
      GivenMax(request.message).value_or(RoomBehind(*prompt, request.message.n(), context));
  return CompletePrompts(WithPrompt(std::move(request), prompt->ids, max_tokens),
                         {.id_prefix = "chatcmpl-",
                          .prompt_field = "messages",
                          .max_field = max_field,
                          .role = "assistant",
                          .split = std::move(prompt->split),
                          .response = v1::ChatCompletion::descriptor(),
                          .last_event = v1::ChatCompletionEnd::descriptor(),
                          .chunk = v1::ChatCompletionChunk::descriptor()},
                         context, on_delta);
}

std::int64_t ChatResponseBytesBound(const ChatRequest& request, const proto::ModelConfig& config) {
  // Few messages are longer. The excess is counted when the response is formed.
  constexpr std::int64_t kUsualTokens = 16384;
  const v1::ChatRequest& message = request.message;
  const std::int64_t max_tokens = GivenMax(message).value_or(
      std::min<std::int64_t>(config.max_position_embeddings, kUsualTokens));
  // A byte of a token's text is also a number in a list.
  constexpr std::int64_t kEntryBytes = 2 * kListBytes + kNumberBytes + 5 * kTextBytesPerToken;
  const std::int64_t named =
      std::min<std::int64_t>(message.logprob_token_ids().ids_size(), kMostLogprobTokenIds);
  const std::int64_t entries =
      std::max(std::clamp<std::int64_t>(message.top_logprobs(), 0, kMostLogprobs), named);
  const std::int64_t token_bytes = (message.return_token_ids() ? kTokenIdBytes : 0) +
                                   (message.logprobs() ? (entries + 1) * kEntryBytes : 0);
  return kOtherBytes + std::clamp<std::int64_t>(message.n(), 1, kMostCompletions) *
                           CompletionBytesBound(max_tokens, token_bytes);
}

}  // namespace scorecast::coordinator
