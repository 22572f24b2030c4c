#include "coordinator/chat/chat_template.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "coordinator/chat/jinja_renderer.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;
using Origin = MarkedText::Origin;

constexpr std::array<std::string_view, 4> kVariables = {"messages", "tools", "documents",
                                                        "add_generation_prompt"};

/// Whether an expression is a message's content or a variable of that name, perhaps filtered.
bool IsContent(const JinjaExpression& expression) {
  if (expression.kind == JinjaExpression::Kind::kFilter) {
    return IsContent(*expression.operands[0]);
  }
  if (expression.kind == JinjaExpression::Kind::kItem) {
    const MarkedText* key = expression.operands[1]->literal.text();
    return key != nullptr && key->text() == "content";
  }
  return (expression.kind == JinjaExpression::Kind::kAttribute ||
          expression.kind == JinjaExpression::Kind::kName) &&
         expression.name == "content";
}

/// Whether there is a loop through the parts of a content.
bool LoopsThroughContent(const JinjaBody& body) {
  return std::ranges::any_of(body, [](const JinjaStatement& statement) {
    return (statement.kind == JinjaStatement::Kind::kFor && IsContent(*statement.value)) ||
           LoopsThroughContent(statement.body) ||
           std::ranges::any_of(statement.branches, [](const JinjaStatement::Branch& branch) {
             return LoopsThroughContent(branch.body);
           });
  });
}

bool LooksForParts(std::string_view source) {
  constexpr std::array<std::string_view, 5> kPatterns = {"content[0]", ".type", "'type'",
                                                         "\"type\"", "message.content["};
  return std::ranges::any_of(kPatterns, [&](std::string_view pattern) {
    return source.find(pattern) != std::string_view::npos;
  });
}

JinjaValue OfRequest(std::string text) {
  return JinjaValue(MarkedText(std::move(text), Origin::kRequest));
}

JinjaValue FromJson(const nlohmann::ordered_json& json, int depth = 0) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) {
    throw JinjaFault("chat_template_kwargs are nested too deeply", {}, JinjaFault::Kind::kLimit);
  }
  if (json.is_array()) {
    std::vector<JinjaValue> items;
    for (const auto& item : json) {
      items.push_back(FromJson(item, depth + 1));
    }
    return JinjaValue::OfItems(std::move(items));
  }
  if (json.is_object()) {
    std::vector<std::pair<std::string, JinjaValue>> members;
    for (const auto& [key, value] : json.items()) {
      members.emplace_back(key, FromJson(value, depth + 1));
    }
    return JinjaValue::OfMembers(std::move(members));
  }
  if (json.is_string()) {
    return OfRequest(json.get<std::string>());
  }
  if (json.is_boolean()) {
    return JinjaValue::OfBool(json.get<bool>());
  }
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) {
    throw JinjaFault("chat_template_kwargs have a number that is too large");
  }
  if (json.is_number_integer()) {
    return JinjaValue::OfInteger(json.get<std::int64_t>());
  }
  return json.is_number() ? JinjaValue(JinjaValue::Variant(json.get<double>()))
                          : JinjaValue::OfNone();
}

/// Ends the content of the message to be continued, and is cut off afterwards: this finds the place
/// wherever the template puts the message. The space shows whether the template trims contents.
constexpr std::string_view kFinalTag = "<final message ends> ";

/// The text before the last tag.
MarkedText BeforeTag(const MarkedText& text) {
  const std::size_t tag = text.text().rfind(WithoutSpaceBehind(kFinalTag));
  if (tag == std::string::npos) {
    throw JinjaFault(
        "the chat template does not end with the text of the last message, so it "
        "cannot be continued",
        {}, JinjaFault::Kind::kRaised);
  }
  const std::string_view before = std::string_view(text.text()).substr(0, tag);
  const bool is_whole = text.text().compare(tag, kFinalTag.size(), kFinalTag) == 0;
  return text.Part(0, is_whole ? tag : WithoutSpaceBehind(before).size());
}

}  // namespace

Expected<ChatTemplate, JinjaFault> ChatTemplate::Parse(std::string_view source,
                                                       Constants constants) {
  if (!IsValidUtf8(source)) {
    return Unexpected(JinjaFault("the template is not valid UTF-8"));
  }
  ChatTemplate result;
  try {
    result.body_ = ParseJinja(source);
  } catch (JinjaFault& fault) {
    return Unexpected(std::move(fault));
  }
  result.constants_ = std::move(constants);
  result.takes_parts_ = LoopsThroughContent(result.body_);
  result.looks_for_parts_ = LooksForParts(source);
  result.names_developer_ = source.find("developer") != std::string_view::npos;
  return result;
}

bool ChatTemplate::TakesArgument(std::string_view name) const {
  return std::ranges::find(kVariables, name) == kVariables.end() &&
         std::ranges::find(constants_, name, &Constants::value_type::first) == constants_.end();
}

JinjaValue ChatTemplate::ContentOf(const ChatMessage& message, std::string_view tag,
                                   bool keeps_lists) const {
  if (!message.is_list || !(takes_parts_ || keeps_lists)) {
    std::string text;
    for (std::size_t i = 0; i < message.texts.size(); ++i) {
      (text += i == 0 ? "" : "\n") += message.texts[i];
    }
    return OfRequest(text.append(tag));
  }
  std::vector<JinjaValue> parts;
  for (std::size_t i = 0; i < message.texts.size(); ++i) {
    std::string text(message.texts[i]);
    text += i + 1 == message.texts.size() ? tag : "";
    parts.push_back(JinjaValue::OfMembers(
        {{"type", JinjaValue::OfTemplate("text")}, {"text", OfRequest(std::move(text))}}));
  }
  return JinjaValue::OfItems(std::move(parts));
}

JinjaValue ChatTemplate::Messages(const Conversation& conversation, std::string_view tag) const {
  std::vector<JinjaValue> messages;
  for (const ChatMessage& message : conversation.messages) {
    const bool is_last = &message == &conversation.messages.back();
    const bool is_system = message.role == "developer" && !names_developer_;
    messages.push_back(JinjaValue::OfMembers(
        {{"role", JinjaValue::OfTemplate(is_system ? "system" : std::string(message.role))},
         {"content", ContentOf(message, is_last ? tag : "", conversation.keeps_lists)}}));
  }
  return JinjaValue::OfItems(std::move(messages));
}

MarkedText ChatTemplate::RenderMessages(const Conversation& conversation, std::string_view tag,
                                        const Interruption* interruption) const {
  JinjaRenderer::Variables variables;
  for (const auto& [name, text] : constants_) {
    variables.emplace_back(name, JinjaValue::OfTemplate(text));
  }
  variables.emplace_back("messages", Messages(conversation, tag));
  variables.emplace_back("tools", JinjaValue::OfNone());
  variables.emplace_back("documents", JinjaValue::OfNone());
  variables.emplace_back("add_generation_prompt",
                         JinjaValue::OfBool(conversation.add_generation_prompt));
  for (const ChatArgument& argument : conversation.arguments) {
    variables.emplace_back(argument.name, FromJson(nlohmann::ordered_json::parse(argument.json)));
  }
  JinjaRuntime runtime(conversation.time, interruption);
  return JinjaRenderer(runtime, std::move(variables)).Render(body_);
}

Expected<MarkedText, JinjaFault> ChatTemplate::Render(const Conversation& conversation,
                                                      const Interruption* interruption) const {
  try {
    if (!conversation.continue_final_message) {
      return RenderMessages(conversation, "", interruption);
    }
    return BeforeTag(RenderMessages(conversation, kFinalTag, interruption));
  } catch (JinjaFault& fault) {
    return Unexpected(std::move(fault));
  }
}

}  // namespace scorecast::coordinator
