#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordinator/chat/jinja_value.h"

namespace scorecast::coordinator {

/// A variable of the template, or a member of a message, that a client gives.
struct ChatVariable {
  std::string_view name;  ///< Valid UTF-8.
  JinjaValue value;
};

/// A message of a conversation. Its texts are views of the request, in valid UTF-8.
struct ChatMessage {
  /// "system", "developer", "user" or "assistant"; in a pair "query" and "document".
  std::string_view role;
  std::vector<std::string_view> texts;
  bool is_list = false;  ///< The content is a list of parts. Otherwise it is the only text.
  /// What it has besides, in the request's order, none of it twice.
  std::vector<ChatVariable> members;
  /// The names of further members that have no values here. A template that wants one of them is
  /// not rendered: JinjaFault::Kind::kLeftOut.
  JinjaNames left_out;
};

/// What a chat template renders.
struct Conversation {
  std::vector<ChatMessage> messages;    ///< At least one.
  std::vector<ChatVariable> arguments;  ///< The members of `chat_template_kwargs`.
  bool add_generation_prompt = true;
  /// The text ends with that of the last message, so that the model continues it.
  bool continue_final_message = false;
  /// A content that is a list stays one, even if the template does not go through its parts.
  bool keeps_lists = false;
  std::int64_t time = 0;  ///< What the template takes for now, in seconds since 1970.
};

}  // namespace scorecast::coordinator
