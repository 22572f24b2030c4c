#include "coordinator/chat/chat_template.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "coordinator/chat/jinja_renderer.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

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
  return std::ranges::any_of(body.statements, [](const JinjaStatement& statement) {
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

bool IsWordPart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

JinjaNames WordsOf(std::string_view source) {
  JinjaNames words;
  for (std::size_t at = 0; at < source.size();) {
    std::size_t end = at;
    while (end < source.size() && IsWordPart(source[end])) {
      ++end;
    }
    if (end > at) {
      words.emplace(source.substr(at, end - at));
    }
    at = end + 1;
  }
  return words;
}

/// The names by which clients give what a model has thought. transformers gives a template all that
/// it knows by the first name, and by the second.
constexpr std::array<std::string_view, 3> kReasoning = {"reasoning_content", "thinking",
                                                        "reasoning"};

const ChatVariable* FindMemberOf(const ChatMessage& message, std::string_view name) {
  const auto found = std::ranges::find(message.members, name, &ChatVariable::name);
  return found == message.members.end() ? nullptr : &*found;
}

/// Ends the content of the message to be continued, and is cut off afterwards: this finds the place
/// wherever the template puts the message. The space shows whether the template trims contents.
constexpr std::string_view kFinalTag = "<final message ends> ";

/// The text before the last tag, which has `content`, the text to be continued.
MarkedText BeforeTag(const MarkedText& text, std::string_view content) {
  const std::string_view whole = text.text();
  const std::size_t tag = whole.rfind(WithoutSpaceBehind(kFinalTag));
  content = WithoutSpaceBehind(WithoutSpaceBefore(content));
  const auto has_content = [&] {
    // It usually stands right before the tag. memmem takes linear time.
    return WithoutSpaceBehind(whole.substr(0, tag)).ends_with(content) ||
           memmem(whole.data(), whole.size(), content.data(), content.size()) != nullptr;
  };
  if (tag == std::string_view::npos || !has_content()) {
    throw JinjaFault(
        "the chat template does not end with the text of the last message, so it "
        "cannot be continued",
        {}, JinjaFault::Kind::kRaised);
  }
  const std::string_view before = whole.substr(0, tag);
  const bool is_whole = whole.substr(tag).starts_with(kFinalTag);
  return text.Part(0, is_whole ? tag : WithoutSpaceBehind(before).size());
}

std::string JoinedTexts(const ChatMessage& message) {
  std::string joined;
  for (std::size_t i = 0; i < message.texts.size(); ++i) {
    (joined += i == 0 ? "" : "\n") += message.texts[i];
  }
  return joined;
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
  result.words_ = WordsOf(source);
  result.takes_parts_ = LoopsThroughContent(result.body_);
  result.looks_for_parts_ = LooksForParts(source);
  result.names_developer_ = source.find("developer") != std::string_view::npos;
  return result;
}

bool ChatTemplate::TakesArgument(std::string_view name) const {
  return std::ranges::find(kVariables, name) == kVariables.end() &&
         std::ranges::find(constants_, name, &Constants::value_type::first) == constants_.end();
}

bool ChatTemplate::NamesMember(std::string_view name) const {
  const auto has = [&](std::string_view word) { return words_.contains(word); };
  return std::ranges::find(kReasoning, name) != kReasoning.end()
             ? std::ranges::any_of(kReasoning, has)
             : has(name);
}

JinjaValue ChatTemplate::ContentOf(const ChatMessage& message, std::string_view tag,
                                   bool keeps_lists) const {
  if (!message.is_list || !(takes_parts_ || keeps_lists)) {
    return JinjaValue::OfRequest(JoinedTexts(message).append(tag));
  }
  std::vector<JinjaValue> parts;
  for (std::size_t i = 0; i < message.texts.size(); ++i) {
    std::string text(message.texts[i]);
    text += i + 1 == message.texts.size() ? tag : "";
    std::vector<JinjaMember> part;
    part.push_back(MemberOfTemplate("type", JinjaValue::OfTemplate("text")));
    part.push_back(MemberOfTemplate("text", JinjaValue::OfRequest(std::move(text))));
    parts.push_back(JinjaValue::OfMembers(std::move(part)));
  }
  return JinjaValue::OfItems(std::move(parts));
}

JinjaValue ChatTemplate::MessageOf(const ChatMessage& message, std::string_view tag,
                                   bool keeps_lists) const {
  const bool is_system = message.role == "developer" && !names_developer_;
  std::vector<JinjaMember> members;
  members.push_back(MemberOfTemplate(
      "role", JinjaValue::OfTemplate(is_system ? "system" : std::string(message.role))));
  members.push_back(MemberOfTemplate("content", ContentOf(message, tag, keeps_lists)));
  for (const ChatVariable& member : message.members) {
    members.push_back(
        {std::make_shared<const MarkedText>(std::string(member.name), MarkedText::Origin::kRequest),
         member.value});
  }
  for (const std::string_view name : kReasoning) {
    const ChatVariable* reasoning = FindMemberOf(message, name);
    if (reasoning == nullptr) {
      continue;
    }
    if (FindMemberOf(message, kReasoning[1]) == nullptr) {
      members.insert(members.begin(),
                     MemberOfTemplate(std::string(kReasoning[1]), reasoning->value));
    }
    if (FindMemberOf(message, kReasoning[0]) == nullptr) {
      members.push_back(MemberOfTemplate(std::string(kReasoning[0]), reasoning->value));
    }
    break;
  }
  return JinjaValue::OfMembers(std::move(members), message.left_out);
}

MarkedText ChatTemplate::RenderMessages(const Conversation& conversation, std::string_view tag,
                                        const Interruption* interruption) const {
  JinjaRenderer::Variables variables;
  for (const auto& [name, text] : constants_) {
    variables.emplace_back(name, JinjaValue::OfTemplate(text));
  }
  std::vector<JinjaValue> messages;
  for (const ChatMessage& message : conversation.messages) {
    const bool is_last = &message == &conversation.messages.back();
    messages.push_back(MessageOf(message, is_last ? tag : "", conversation.keeps_lists));
  }
  variables.emplace_back("messages", JinjaValue::OfItems(std::move(messages)));
  variables.emplace_back("tools", JinjaValue::OfNone());
  variables.emplace_back("documents", JinjaValue::OfNone());
  variables.emplace_back("add_generation_prompt",
                         JinjaValue::OfBool(conversation.add_generation_prompt));
  for (const ChatVariable& argument : conversation.arguments) {
    variables.emplace_back(argument.name, argument.value);
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
    const ChatMessage& last = conversation.messages.back();
    const bool has_parts = last.is_list && (takes_parts_ || conversation.keeps_lists);
    const std::string content =
        has_parts && !last.texts.empty() ? std::string(last.texts.back()) : JoinedTexts(last);
    return BeforeTag(RenderMessages(conversation, kFinalTag, interruption), content);
  } catch (JinjaFault& fault) {
    return Unexpected(std::move(fault));
  }
}

}  // namespace scorecast::coordinator
