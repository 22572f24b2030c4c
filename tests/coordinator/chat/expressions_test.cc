// Small templates against what Jinja renders: tests/golden/make/expressions.py.

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/chat/chat_template.h"
#include "coordinator/endpoints/chat_value.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace expressions_test {

using nlohmann::json;
using ::testing::HasSubstr;

/// Members of an object whose values are JSON in texts, in the order of `names`.
ChatVariable VariableOf(const std::string& name, const std::string& text,
                        std::deque<std::string>& names) {
  const std::string& own = names.emplace_back(name);
  return {own, ChatValue(text, own).value()};
}

/// The conversation that all templates of the golden file see.
struct GoldenVariables {
  explicit GoldenVariables(const json& line) : given(line) {
    for (const auto& [name, text] : given.at("variables").items()) {
      conversation.arguments.push_back(VariableOf(name, text.get<std::string>(), names));
    }
    for (const json& message : given.at("messages")) {
      ChatMessage& added = conversation.messages.emplace_back();
      added.role = message.at(0).get_ref<const std::string&>();
      added.texts.emplace_back(message.at(1).get_ref<const std::string&>());
      for (const json& member : message.at(2)) {
        added.members.push_back(
            VariableOf(member.at(0).get<std::string>(), member.at(1).get<std::string>(), names));
      }
    }
  }

  const json given;
  std::deque<std::string> names;
  Conversation conversation;
};

TEST(Expressions, AreThoseOfJinjaOrRefusedByName) {
  const std::vector<json> lines = ReadJsonLines(std::filesystem::path(reference::kTestsDirectory) /
                                                "golden" / "chat" / "expressions.jsonl");
  ASSERT_GE(lines.size(), 1200U);
  const GoldenVariables variables(lines.front());
  int equal = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const json& line = lines[i];
    const auto source = line.at("template").get<std::string>();
    SCOPED_TRACE(source);
    const auto parsed = ChatTemplate::Parse(source, {});
    const auto text = parsed ? parsed->Render(variables.conversation, nullptr)
                             : proto::Unexpected(parsed.error());
    if (line.contains("refused")) {
      ASSERT_FALSE(text) << "rendered: " << text->text();
      EXPECT_THAT(text.error().Text(), HasSubstr(line.at("refused").get<std::string>()));
    } else if (line.at("text").is_null()) {
      EXPECT_FALSE(text) << "Jinja refuses it; rendered: " << text->text();
    } else if (text) {
      EXPECT_EQ(text->text(), line.at("text").get<std::string>());
      ++equal;
    } else {
      ADD_FAILURE() << text.error().Text();
    }
  }
  EXPECT_GE(equal, 900);
}

}  // namespace expressions_test
}  // namespace scorecast::coordinator
