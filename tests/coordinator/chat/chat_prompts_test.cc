// Where the template of a model is found.

#include "coordinator/chat/chat_prompts.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/coordinator/fake_tokenizer.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace chat_prompts_test {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct Model {
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory.path() / name) << text;
  }
  LoadedChatPrompts Load(const std::filesystem::path& flag = {}) const {
    return LoadChatPrompts(directory.path(), flag, &tokenizer);
  }
  std::string Example() const { return Load().prompts->Example(); }

  const reference::TempDirectory directory;
  const FakeTokenizer tokenizer{{{"<d>", 256}}, 256};
};

TEST(ChatPrompts, AFileOfItsOwnComesFirst) {
  const Model model;
  EXPECT_EQ(model.Load().no_chat_reason, "the model directory has no chat template");
  model.Write("chat_template.json", R"({"chat_template": "json"})");
  EXPECT_EQ(model.Example(), "json");
  model.Write("tokenizer_config.json", R"({"chat_template": "config"})");
  EXPECT_EQ(model.Example(), "config");
  EXPECT_EQ(model.Load().prompts->name(), "tokenizer_config.json");
  model.Write("chat_template.jinja", "jinja\n");
  EXPECT_EQ(model.Example(), "jinja");
  model.Write("other.jinja", "other");
  const LoadedChatPrompts loaded = model.Load(model.directory.path() / "other.jinja");
  EXPECT_EQ(loaded.prompts->Example(), "other");
  EXPECT_THAT(loaded.prompts->name(), EndsWith("other.jinja"));
}

TEST(ChatPrompts, OfSeveralTemplatesTheDefaultIsTaken) {
  const Model model;
  model.Write("tokenizer_config.json",
              R"({"chat_template": [{"name": "tool_use", "template": "a"}, )"
              R"({"name": "default", "template": "b"}]})");
  EXPECT_EQ(model.Example(), "b");
  model.Write("tokenizer_config.json",
              R"({"chat_template": [{"name": "tool_use", "template": "a"}]})");
  EXPECT_EQ(model.Load().no_chat_reason, "the model directory has no chat template");
}

TEST(ChatPrompts, SpecialTokensAreVariables) {
  const Model model;
  model.Write("chat_template.jinja", "{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}");
  EXPECT_EQ(model.Example(), "<d>False") << "the tokenizer's BOS";
  model.Write("special_tokens_map.json", R"({"bos_token": "<x>", "eos_token": "<z>"})");
  EXPECT_EQ(model.Example(), "<x><z>False");
  model.Write("tokenizer_config.json", R"({"bos_token": {"content": "<y>"}, "pad_token": "p"})");
  EXPECT_EQ(model.Example(), "<y><z>True");
}

TEST(ChatPrompts, ATemplateThatIsNotUnderstoodIsAReasonNotToChat) {
  const Model model;
  model.Write("chat_template.jinja", "{% include 'x' %}");
  const LoadedChatPrompts loaded = model.Load();
  EXPECT_EQ(loaded.prompts, nullptr);
  EXPECT_EQ(loaded.no_chat_reason,
            "chat_template.jinja: line 1, column 4: the tag \"include\" is not supported");
  const auto fault = [&](const std::filesystem::path& flag) -> std::string {
    try {
      model.Load(flag);
    } catch (const proto::StartupError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(fault(model.directory.path() / "chat_template.jinja"),
              HasSubstr("chat_template.jinja: line 1, column 4: the tag"));
  EXPECT_THAT(fault(model.directory.path() / "absent.jinja"), HasSubstr("absent.jinja"));
}

TEST(ChatPrompts, AModelWithoutTokenizerDoesNotChat) {
  const Model model;
  model.Write("chat_template.jinja", "x");
  EXPECT_EQ(LoadChatPrompts(model.directory.path(), {}, nullptr).no_chat_reason,
            "the model directory has no tokenizer");
}

}  // namespace chat_prompts_test
}  // namespace scorecast::coordinator
