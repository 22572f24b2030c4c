// Rendered conversations against those of transformers: tests/golden/make/chat.py.

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/chat/chat_prompts.h"
#include "tests/coordinator/chat/golden_conversation.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace chat_golden_test {

using nlohmann::json;
using proto::Expected;

const std::filesystem::path kGolden =
    std::filesystem::path(reference::kTestsDirectory) / "golden" / "chat";

std::string ReadText(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(ChatGolden, TextsAreThoseOfTransformers) {
  const std::vector<json> conversations = ReadJsonLines(kGolden / "conversations.jsonl");
  ASSERT_GE(conversations.size(), 15U);
  const std::vector<json> templates = ReadJsonLines(kGolden / "texts.jsonl");
  ASSERT_GE(templates.size(), 8U);
  for (const json& expected : templates) {
    const auto name = expected.at("template").get<std::string>();
    const auto chat_template = ChatTemplate::Parse(ReadText(kGolden / "templates" / name),
                                                   {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    ASSERT_TRUE(chat_template) << name << ", " << chat_template.error().Text();
    std::size_t rendered = 0;
    for (std::size_t i = 0; i < conversations.size(); ++i) {
      SCOPED_TRACE(name + " " + conversations[i].dump());
      const GoldenConversation given(conversations[i]);
      const Expected<MarkedText, JinjaFault> text =
          chat_template->Render(given.conversation(), nullptr);
      const json& wanted = expected.at("texts").at(i);
      if (wanted.is_null()) {
        EXPECT_FALSE(text) << "transformers refuses the conversation";
        continue;
      }
      ASSERT_TRUE(text) << text.error().Text();
      EXPECT_EQ(text->text(), wanted.get<std::string>());
      ++rendered;
    }
    EXPECT_GE(rendered, 8U) << name;
  }
}

/// The tokens of conversations with the tokenizer and the template of a published model.
void CheckTokens(const std::string& name) {
  const std::filesystem::path dir =
      std::filesystem::path(reference::kSharedDirectory) / "golden" / "tokenizers" / name;
  if (!std::filesystem::exists(dir)) {
    GTEST_SKIP() << "no reference data: " << dir;
  }
  const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(dir);
  ASSERT_NE(tokenizer, nullptr);
  const LoadedChatPrompts loaded = LoadChatPrompts(dir, {}, tokenizer.get());
  ASSERT_NE(loaded.prompts, nullptr) << loaded.no_chat_reason;
  const std::vector<json> conversations = ReadJsonLines(kGolden / "conversations.jsonl");
  for (const json& expected : ReadJsonLines(kGolden / "tokens.jsonl")) {
    for (std::size_t i = 0; expected.at("tokenizer") == name && i < conversations.size(); ++i) {
      SCOPED_TRACE(conversations[i].dump());
      const json& wanted = expected.at("ids").at(i);
      const GoldenConversation given(conversations[i]);
      const Expected<MarkedText, JinjaFault> text =
          loaded.prompts->chat_template().Render(given.conversation(), nullptr);
      ASSERT_EQ(text.has_value(), !wanted.is_null());
      if (text) {
        EXPECT_EQ(loaded.prompts->Tokens(*text, {}).value(), wanted.get<std::vector<TokenId>>());
      }
    }
  }
}

TEST(ChatGolden, TokensOfQwen3) { CheckTokens("qwen3"); }
TEST(ChatGolden, TokensOfLlama3) { CheckTokens("llama3"); }

}  // namespace chat_golden_test
}  // namespace scorecast::coordinator
