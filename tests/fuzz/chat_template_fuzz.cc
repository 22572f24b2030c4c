// Arbitrary bytes as a chat template and, behind a zero byte, as the text of messages: a template
// is understood or refused, and a conversation is rendered or refused, within the limits of both.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/chat_template.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/check.h"

namespace {

using scorecast::coordinator::ChatTemplate;
using scorecast::coordinator::Conversation;
using scorecast::coordinator::JinjaMember;
using scorecast::coordinator::JinjaValue;
using scorecast::coordinator::MarkedText;
using scorecast::coordinator::MemberOfTemplate;
using scorecast::proto::Check;

void RenderOne(const ChatTemplate& chat_template, const Conversation& conversation) {
  const auto text = chat_template.Render(conversation, nullptr);
  if (!text) {
    Check(!text.error().what.empty() ||
              text.error().kind == scorecast::coordinator::JinjaFault::Kind::kRaised,
          "a fault says what is wrong");
    return;
  }
  Check(scorecast::coordinator::IsValidUtf8(text->text()), "a text is valid UTF-8");
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->EndOfRun(at);
    Check(end > at && end <= text->size(), "every byte has an origin");
    at = end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = bytes.find('\0');
  const auto parsed =
      ChatTemplate::Parse(bytes.substr(0, end), {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  if (!parsed) {
    Check(!parsed.error().what.empty(), "a fault says what is wrong");
    return 0;
  }
  const std::string text = scorecast::coordinator::ReplaceInvalidUtf8(
      end == std::string_view::npos ? "Hello" : bytes.substr(end + 1));
  Conversation conversation;
  conversation.messages = {{.role = "system", .texts = {text}},
                           {.role = "user", .texts = {text, "\n b"}, .is_list = true},
                           {.role = "assistant", .texts = {" <think>a</think> c "}},
                           {.role = "user", .texts = {text}}};
  conversation.messages[2].members = {{"name", JinjaValue::OfRequest(text)},
                                      {"reasoning_content", JinjaValue::OfRequest(" hm ")}};
  conversation.messages[3].left_out = {"weight"};
  std::vector<JinjaMember> members;
  members.push_back(MemberOfTemplate(
      "a", JinjaValue::OfItems({JinjaValue::OfInteger(1), JinjaValue::OfNumber(2.5),
                                JinjaValue::OfNone(), JinjaValue::OfDigits("18446744073709551616"),
                                JinjaValue::OfRequest("b")})));
  conversation.arguments = {{"enable_thinking", JinjaValue::OfBool(false)},
                            {"x", JinjaValue::OfMembers(std::move(members))}};
  RenderOne(*parsed, conversation);
  conversation.messages.resize(3);
  conversation.add_generation_prompt = false;
  conversation.continue_final_message = true;
  RenderOne(*parsed, conversation);
  return 0;
}
