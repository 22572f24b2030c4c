#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/chat/conversation.h"

namespace scorecast::coordinator {

/// A line of tests/golden/chat/conversations.jsonl, with the texts that its conversation views.
class GivenConversation {
 public:
  explicit GivenConversation(const nlohmann::json& line) : line_(line) {
    for (const nlohmann::json& message : line_.at("messages")) {
      ChatMessage& added = conversation_.messages.emplace_back();
      added.role = message.at("role").get_ref<const std::string&>();
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
    arguments_.reserve(line_.at("options").size());
    for (const auto& [name, value] : line_.at("options").items()) {
      if (name == "add_generation_prompt") {
        conversation_.add_generation_prompt = value.get<bool>();
      } else if (name == "continue_final_message") {
        conversation_.continue_final_message = value.get<bool>();
      } else {
        arguments_.emplace_back(name, value.dump());
        conversation_.arguments.push_back({arguments_.back().first, arguments_.back().second});
      }
    }
  }
  GivenConversation(const GivenConversation&) = delete;
  GivenConversation& operator=(const GivenConversation&) = delete;

  const Conversation& conversation() const { return conversation_; }

 private:
  const nlohmann::json line_;
  std::vector<std::pair<std::string, std::string>> arguments_;
  Conversation conversation_;
};

}  // namespace scorecast::coordinator
