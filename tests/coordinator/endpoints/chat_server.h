#pragma once

#include <memory>
#include <string>
#include <utility>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/chat/text_messages.h"
#include "coordinator/request/server_options.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {

inline constexpr TokenId kChatBos = 256;

/// Options of a server that chats with a template, in which `bos_token` is BOS.
inline ServerOptions WithChatTemplate(const std::string& source, ServerOptions options = {}) {
  static const FakeTokenizer tokenizer({{"<d>", kChatBos}});
  options.chat = std::make_shared<const ChatPrompts>(
      ChatTemplate::Parse(source, {{"bos_token", "<d>"}}).value(), tokenizer, "test", "a test");
  return options;
}

/// A template for texts that are messages: "[role:text]" for each.
inline constexpr char kMessagesTemplate[] =
    "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";

/// `tokenizer` must outlive the result.
inline std::shared_ptr<const TextMessages> MakeMessages(
    const Tokenizer& tokenizer, const std::string& chat_template = kMessagesTemplate) {
  return std::make_shared<const TextMessages>(
      std::make_shared<const ChatPrompts>(ChatTemplate::Parse(chat_template, {}).value(), tokenizer,
                                          "test", "a test"),
      MessageRules{.format = MessageRules::Format::kFlat});
}

/// The same with "<user>…</>" for each message, behind BOS. A message "refuse" is refused, and a
/// variable `mood` ends the prompt.
inline ServerOptions WithChat(ServerOptions options = {}) {
  return WithChatTemplate(
      "{{ bos_token }}{% for m in messages %}"
      "{% if m.content == 'refuse' %}{{ raise_exception('No!') }}{% endif %}"
      "<{{ m.role }}>{{ m.content }}</>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{{ mood }}{% endif %}",
      std::move(options));
}

}  // namespace scorecast::coordinator
