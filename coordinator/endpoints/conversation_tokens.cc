#include "coordinator/endpoints/conversation_tokens.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/endpoints/chat_value.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

constexpr std::string_view kArguments = "chat_template_kwargs";

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

/// Members that a request has in another way, or not at all.
std::optional<Error> MemberNameFault(const std::string& name, const std::string& field) {
  static constexpr std::array<std::string_view, 6> kOthers = {
      "audio", "content", "function_call", "role", "tool_call_id", "tool_calls"};
  if (std::ranges::find(kOthers, name) == kOthers.end()) {
    return std::nullopt;
  }
  return BadRequest("not_supported",
                    field + " is not supported by this server as a further member of a message.",
                    field);
}

/// Sets what a message has besides role and content. As in transformers, null is no member. Members
/// whose names the template does not have are left out, unless it takes all.
/// `bytes` are those of all messages' lists and objects so far.
std::optional<Error> MembersFault(const v1::ChatMessage& message, int index,
                                  const ChatTemplate& chat, bool takes_all, std::size_t& bytes,
                                  ChatMessage& result) {
  constexpr std::size_t kMostMembers = 128;
  // A list of digits takes some twenty times the memory of its text.
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  std::set<std::string_view> seen;
  // From the last one on, because it counts of members with the same key.
  for (int i = message.members_size(); i-- > 0;) {
    const v1::ChatMember& member = message.members(i);
    const std::string field = MessageField(index, proto::OneLine(member.key()));
    if (!IsValidUtf8(member.key())) {
      return InvalidUtf8(At("messages", static_cast<std::size_t>(index)));
    }
    if (auto fault = MemberNameFault(member.key(), field)) {
      return fault;
    }
    if (!seen.insert(member.key()).second) {
      continue;
    }
    if (!takes_all && !chat.NamesMember(member.key())) {
      result.left_out.insert(member.key());
      continue;
    }
    bytes += member.value().starts_with('"') ? 0 : member.value().size();
    if (bytes > kMostBytes) {
      return Error{413, "members_too_long",
                   "Lists and objects of messages' members have more than " +
                       proto::Count(kMostBytes, "byte") + ".",
                   field};
    }
    Expected<JinjaValue> value = ChatValue(member.value(), field);
    if (!value) {
      return std::move(value).error();
    }
    if (!value->is_none()) {
      result.members.push_back({member.key(), *std::move(value)});
    }
    if (result.members.size() > kMostMembers) {
      const std::string of_message = At("messages", static_cast<std::size_t>(index));
      return BadRequest(
          "too_many_members",
          of_message + " has more than " + proto::Count(kMostMembers, "further member") + ".",
          of_message);
    }
  }
  std::ranges::reverse(result.members);
  return std::nullopt;
}

std::string ArgumentField(const v1::ChatTemplateArgument& argument) {
  return std::string(kArguments) + "." + proto::OneLine(argument.key());
}

/// Variables, and members of their values, are looked up one by one.
std::optional<Error> ArgumentsFault(const GivenConversation& given) {
  constexpr int kMostArguments = 128;
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  if (given.arguments.size() > kMostArguments) {
    return BadRequest(
        "too_many_arguments",
        "Too many chat_template_kwargs: " + Exceeds(given.arguments.size(), kMostArguments) + ".",
        std::string(kArguments));
  }
  std::size_t bytes = 0;
  for (const v1::ChatTemplateArgument& argument : given.arguments) {
    bytes += argument.key().size() + argument.value().size();
  }
  return bytes <= kMostBytes ? std::nullopt
                             : std::optional(BadRequest("arguments_too_long",
                                                        "chat_template_kwargs have more than " +
                                                            proto::Count(kMostBytes, "byte") + ".",
                                                        std::string(kArguments)));
}

/// The value of a variable of the template.
Expected<JinjaValue> ArgumentValue(const v1::ChatTemplateArgument& argument,
                                   const ChatTemplate& chat) {
  const std::string field = ArgumentField(argument);
  if (!chat.TakesArgument(argument.key())) {
    return Unexpected(BadRequest("not_supported",
                                 field + " is not supported by this server: every conversation "
                                         "has its own value of this variable.",
                                 field));
  }
  if (!IsValidUtf8(argument.key())) {
    return Unexpected(InvalidUtf8(std::string(kArguments)));
  }
  return ChatValue(argument.value(), field);
}

Expected<Conversation> CheckConversation(const GivenConversation& given, const ChatTemplate& chat,
                                         bool takes_all_members) {
  Conversation conversation{.add_generation_prompt = given.add_generation_prompt,
                            .continue_final_message = given.continue_final_message,
                            .time = given.time};
  std::size_t bytes = 0;
  for (int i = 0; i < given.messages.size(); ++i) {
    auto fault = RoleFault(given.messages[i], i);
    ChatMessage& message = conversation.messages.emplace_back(PartsOf(given.messages[i], i, fault));
    if (!fault) {
      fault = MembersFault(given.messages[i], i, chat, takes_all_members, bytes, message);
    }
    if (fault) {
      return Unexpected(*std::move(fault));
    }
  }
  if (auto fault = ArgumentsFault(given)) {
    return Unexpected(*std::move(fault));
  }
  for (const v1::ChatTemplateArgument& argument : given.arguments) {
    Expected<JinjaValue> value = ArgumentValue(argument, chat);
    if (!value) {
      return Unexpected(std::move(value).error());
    }
    std::erase_if(conversation.arguments,
                  [&](const ChatVariable& before) { return before.name == argument.key(); });
    conversation.arguments.push_back({argument.key(), *std::move(value)});
  }
  return conversation;
}

Error RenderingError(const JinjaFault& fault) {
  switch (fault.kind) {
    case JinjaFault::Kind::kRaised:
      return BadRequest("conversation_refused",
                        "The chat template refuses the conversation: " + Quoted(fault.what, 1024),
                        "messages");
    case JinjaFault::Kind::kStopped:
      return EncodeError(EncodeFault::kStopped, {}, "messages");
    case JinjaFault::Kind::kLeftOut:
    case JinjaFault::Kind::kLimit:
    case JinjaFault::Kind::kTemplate:
      break;
  }
  return BadRequest("not_rendered",
                    "The chat template cannot render the conversation: " +
                        proto::OneLine(fault.Text(), 1024) + ".",
                    "messages");
}

}  // namespace

std::optional<Error> ConversationFault(const GivenConversation& given,
                                       const RequestContext& context) {
  if (context.options.chat == nullptr) {
    return BadRequest("no_chat_template",
                      "This server takes no messages: " + context.options.no_chat_reason + ".",
                      "messages");
  }
  if (given.messages.empty()) {
    return BadRequest("empty_conversation", "messages must be a nonempty list.", "messages");
  }
  if (given.continue_final_message && given.add_generation_prompt) {
    return BadRequest("continue_final_message_with_generation_prompt",
                      "continue_final_message needs add_generation_prompt: false.",
                      "continue_final_message");
  }
  return std::nullopt;
}

Expected<MarkedText> RenderConversation(const GivenConversation& given,
                                        const RequestContext& context) {
  const ChatTemplate& chat = context.options.chat->chat_template();
  for (bool takes_all_members = false;; takes_all_members = true) {
    const Expected<Conversation> conversation = CheckConversation(given, chat, takes_all_members);
    if (!conversation) {
      return Unexpected(conversation.error());
    }
    Expected<MarkedText, JinjaFault> text = chat.Render(*conversation, context.interruption);
    if (text) {
      return *std::move(text);
    }
    if (takes_all_members || text.error().kind != JinjaFault::Kind::kLeftOut) {
      return Unexpected(RenderingError(text.error()));
    }
  }
}

Expected<std::vector<TokenId>> ConversationTokens(const MarkedText& text, std::int64_t max_tokens,
                                                  const RequestContext& context, bool at_start) {
  Expected<std::vector<TokenId>, EncodeFault> ids = context.options.chat->Tokens(
      text, {.max_tokens = CountedTokens(max_tokens), .interruption = context.interruption},
      at_start);
  if (!ids) {
    return Unexpected(EncodeError(
        ids.error(),
        BadRequest("too_many_positions",
                   "Too many positions: " + FarExceeds(max_tokens) + "." + kNothingIsCut,
                   "messages"),
        "messages"));
  }
  return *std::move(ids);
}

std::int64_t TokensBound(const google::protobuf::RepeatedPtrField<v1::ChatMessage>& messages) {
  constexpr std::int64_t kAddedTokens = 64;
  std::int64_t tokens = kAddedTokens;
  for (const v1::ChatMessage& message : messages) {
    tokens += static_cast<std::int64_t>(message.content().text().size()) + kAddedTokens;
    for (const v1::ChatContentPart& part : message.content().parts().parts()) {
      tokens += static_cast<std::int64_t>(part.text().size());
    }
    for (const v1::ChatMember& member : message.members()) {
      tokens += static_cast<std::int64_t>(member.value().size());
    }
  }
  return tokens;
}

}  // namespace scorecast::coordinator
