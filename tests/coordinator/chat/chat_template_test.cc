#include "coordinator/chat/chat_template.h"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace chat_template_test {

using proto::Expected;
using ::testing::HasSubstr;
using Rendered = Expected<MarkedText, JinjaFault>;

Conversation Of(std::vector<ChatMessage> messages) {
  Conversation conversation;
  conversation.messages = std::move(messages);
  return conversation;
}

Rendered Render(const std::string& source, const Conversation& conversation,
                const Interruption* interruption = nullptr) {
  return ChatTemplate::Parse(source, {{"bos_token", "<s>"}})
      .value()
      .Render(conversation, interruption);
}

std::string TextOf(const std::string& source, const Conversation& conversation) {
  const Rendered text = Render(source, conversation);
  return text ? text->text() : "fault: " + text.error().Text();
}

/// "t" for each byte of the template, and "r" for each byte of the request.
std::string OriginsOf(const MarkedText& text) {
  std::string origins;
  for (std::size_t i = 0; i < text.size(); ++i) {
    origins += text.OriginOf(i) == MarkedText::Origin::kRequest ? 'r' : 't';
  }
  return origins;
}

const Conversation kHello = Of({{.role = "user", .texts = {"héllo <s>"}}});

TEST(ChatTemplate, KnowsWhichBytesAreTheRequests) {
  const auto origins = [](const std::string& source) {
    const Rendered text = Render(source, kHello);
    return text ? OriginsOf(*text) : text.error().Text();
  };
  EXPECT_EQ(origins("{{ bos_token }}a{{ messages[0].content }}b"),
            "tttt"
            "rrrrrrrrrr"
            "t");
  EXPECT_EQ(origins("{{ '<' + messages[0].content[:2] ~ '>' }}"), "trrrt");
  EXPECT_EQ(origins("{{ messages[0].content | tojson }}"), "trrrrrrrrrrt");
  EXPECT_EQ(origins("{{ messages[0].content.split(' ') | join('--') }}"), "rrrrrrttrrr");
  EXPECT_EQ(origins("{{ messages[0].content.replace('llo', 'LLL') | upper }}"), "rrrtttrrrr");
  EXPECT_EQ(origins("{{ messages[0].role }}{% for c in messages[0].content %}{{ c }}.{% endfor %}"),
            "tttt"
            "rtrrtrtrtrtrtrtrtrt");
  EXPECT_EQ(origins("{% set x %}a{{ messages[0].content | trim }}{% endset %}{{ x[::-1] }}"),
            "rrrrrrrrrrt");
}

TEST(ChatTemplate, ADeveloperIsTheSystemUnlessTheTemplateKnowsOne) {
  const Conversation conversation = Of({{.role = "developer", .texts = {"x"}}});
  EXPECT_EQ(TextOf("{{ messages[0].role }}", conversation), "system");
  EXPECT_EQ(TextOf("{{ messages[0].role == 'developer' }}", conversation), "True");
}

TEST(ChatTemplate, PartsAreJoinedUnlessTheTemplateGoesThroughThem) {
  const Conversation conversation = Of({{.role = "user", .texts = {"a", "b"}, .is_list = true}});
  EXPECT_EQ(TextOf("{{ messages[0].content }}", conversation), "a\nb");
  EXPECT_EQ(TextOf("{% for m in messages %}{% for p in m['content'] %}{{ p.type }}:{{ p.text }} "
                   "{% endfor %}{% endfor %}",
                   conversation),
            "text:a text:b ");
}

TEST(ChatTemplate, ArgumentsAreVariables) {
  Conversation conversation = kHello;
  conversation.arguments = {
      {"flag", JinjaValue::OfBool(false)},
      {"list", JinjaValue::OfItems({JinjaValue::OfInteger(1), JinjaValue::OfNumber(2.5),
                                    JinjaValue::OfRequest("x"), JinjaValue::OfNone()})},
      {"o", JinjaValue::OfMembers({MemberOfTemplate("k", JinjaValue::OfInteger(1))})}};
  EXPECT_EQ(
      TextOf("{{ flag is false }} {{ list | tojson }} {{ o.k }} {{ tools is none }}", conversation),
      "True [1, 2.5, \"x\", null] 1 True");
  const ChatTemplate parsed = ChatTemplate::Parse("", {{"bos_token", "<s>"}}).value();
  EXPECT_TRUE(parsed.TakesArgument("enable_thinking"));
  EXPECT_FALSE(parsed.TakesArgument("messages") || parsed.TakesArgument("bos_token"));
}

TEST(ChatTemplate, TheTimeIsTheRequests) {
  Conversation conversation = kHello;
  conversation.time = 0;
  EXPECT_THAT(TextOf("{{ strftime_now('%Y') }}", conversation),
              ::testing::AnyOf("1970", "1969"));  // By the time zone.
}

TEST(ChatTemplate, TheFinalMessageIsContinued) {
  Conversation conversation =
      Of({{.role = "user", .texts = {"q"}}, {.role = "assistant", .texts = {" It is "}}});
  conversation.add_generation_prompt = false;
  conversation.continue_final_message = true;
  const std::string as_is = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
  EXPECT_EQ(TextOf(as_is, conversation), "[q][ It is ");
  EXPECT_EQ(TextOf("{% for m in messages %}[{{ m.content | trim }}]{% endfor %}", conversation),
            "[q][It is");
  EXPECT_THAT(TextOf("{{ messages[0].content }}", conversation), HasSubstr("cannot be continued"));
}

TEST(ChatTemplate, FaultsOfConversationsAreNamed) {
  const Rendered raised = Render("{{ raise_exception('No ' ~ messages[0].role) }}", kHello);
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().kind, JinjaFault::Kind::kRaised);
  EXPECT_EQ(raised.error().what, "No user");
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"{{ messages[3].content }}", "column 15: undefined has no attribute content"},
      {"{{ x.y }}", "column 5: x, which is undefined, has no attribute y"},
      {"{{ 'a' + 1 }}", "column 8: the operator + is not supported for a string and an integer"},
      {"{{ messages }}", "column 1: a list as text is not supported"},
      {"{{ 1 // 0 }}", "column 6: a division by 0"},
      {"{{ 9223372036854775807 + 1 }}", "column 24: an integer is too large"},
      {"{{ 1 < 'a' }}", "column 6: an integer cannot be compared with a string"},
      {"{% set x.y = 1 %}", "column 4: x is no namespace"},
      {"{{ (1).strip() }}", "a string is wanted, not an integer"},
      {"{{ 'a'.items() }}", "a string has no method items"},
  };
  for (const auto& [source, fault] : faults) {
    EXPECT_THAT(TextOf(source, kHello), HasSubstr(fault)) << source;
  }
}

TEST(ChatTemplate, NoTemplateTakesForEver) {
  const std::string ten = "{% for i in range(99999) %}";
  for (const std::string& source : {
           ten + ten + ten + "{% endfor %}{% endfor %}{% endfor %}",
           std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
           std::string("{% set n = namespace(x='abcdefgh') %}{% for i in range(60) %}"
                       "{% set n.x = n.x + n.x %}{% endfor %}"),
           std::string("{% set n = namespace(x=[1]) %}{% for i in range(60) %}"
                       "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}"),
           std::string("{% set n = namespace(x=[1]) %}{% for i in range(60) %}"
                       "{% set n.x = [n.x, n.x] %}{% set n.y = n.x == n.x %}{% endfor %}"),
           std::string("{% set n = namespace(x=[]) %}{% for i in range(90000) %}"
                       "{% set n.x = [n.x] %}{% endfor %}"),
           std::string("{{ ('ab' * 1000000).replace('a', 'b' * 1000000) }}"),
           std::string("{{ ('ab' * 5000000).split('a') | length }}"),
           std::string("{{ 'x' * 999999999999 }}"),
           std::string("{{ 'a' * 200000000 in 'a' * 200000000 }}"),
       }) {
    const Rendered text = Render(source, kHello);
    ASSERT_FALSE(text) << source;
    EXPECT_EQ(text.error().kind, JinjaFault::Kind::kLimit) << source << text.error().Text();
  }
}

TEST(ChatTemplate, StopsWhenNobodyWaits) {
  const std::atomic<bool> stop = true;
  const Interruption interruption(stop);
  const Rendered text =
      Render("{% for i in range(90000) %}{{ i }}{% endfor %}", kHello, &interruption);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, JinjaFault::Kind::kStopped);
}

}  // namespace chat_template_test
}  // namespace scorecast::coordinator
