#pragma once

#include <memory>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/request/server_options.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {

inline constexpr TokenId kChatBos = 256;

/// Options of a server that chats: "<user>…</>" for each message, behind BOS. A message "refuse" is
/// refused, and a variable `mood` ends the prompt.
inline ServerOptions WithChat(ServerOptions options = {}) {
  static const FakeTokenizer tokenizer({{"<d>", kChatBos}});
  options.chat = std::make_shared<const ChatPrompts>(
      ChatTemplate::Parse("{{ bos_token }}{% for m in messages %}"
                          "{% if m.content == 'refuse' %}{{ raise_exception('No!') }}{% endif %}"
                          "<{{ m.role }}>{{ m.content }}</>{% endfor %}"
                          "{% if add_generation_prompt %}<assistant>{{ mood }}{% endif %}",
                          {{"bos_token", "<d>"}})
          .value(),
      tokenizer, "test", "a test");
  return options;
}

}  // namespace scorecast::coordinator
