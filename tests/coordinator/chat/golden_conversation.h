#pragma once

#include <deque>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coordinator/chat/conversation.h"
#include "coordinator/endpoints/chat_value.h"

namespace scorecast::coordinator {

/// A line of tests/golden/chat/conversations.jsonl, with the texts that its conversation views.
class GoldenConversation {
 public:
  explicit GoldenConversation(const nlohmann::json& line) : line_(line) {
    for (const nlohmann::json& message : line_.at("messages")) {
      ChatMessage& added = conversation_.messages.emplace_back();
      added.role = message.at("role").get_ref<const std::string&>();
      for (const auto& [name, value] : message.items()) {
        if (name != "role" && name != "content" && !value.is_null()) {
          const std::string& own = names_.emplace_back(name);
          added.members.push_back({own, ChatValue(value.dump(), own).value()});
        }
      }
      const nlohmann::json& content = message.at("content");
      added.is_list = content.is_array();
      if (content.is_array()) {
        for (const nlohmann::json& part : content) {
          added.texts.push_back(part.at("text").get_ref<const std::string&>());
        }
      } else {
        added.texts.push_back(content.is_null() ? std::string_view()
                                                : content.get_ref<const std::string&>());
      }
    }
    for (const auto& [name, value] : line_.at("options").items()) {
      if (name == "add_generation_prompt") {
        conversation_.add_generation_prompt = value.get<bool>();
      } else if (name == "continue_final_message") {
        conversation_.continue_final_message = value.get<bool>();
      } else {
        const std::string& own = names_.emplace_back(name);
        conversation_.arguments.push_back({own, ChatValue(value.dump(), own).value()});
      }
    }
  }
  GoldenConversation(const GoldenConversation&) = delete;
  GoldenConversation& operator=(const GoldenConversation&) = delete;

  const Conversation& conversation() const { return conversation_; }

 private:
  const nlohmann::json line_;
  std::deque<std::string> names_;
  Conversation conversation_;
};

}  // namespace scorecast::coordinator
